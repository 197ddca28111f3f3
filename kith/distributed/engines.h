#pragma once

#include <memory>

#include "kith/distributed/communicator.h"
#include "kith/distributed/join.h"
#include "kith/distributed/launch.h"

namespace kith {

// The engines. Each is built from its folder, or from no_<folder> where what it
// needs is missing; callers do not see the difference. `options` are complete:
// no 0 stands for a default.

bool has_gloo();
std::unique_ptr<Communicator> join_gloo(const RankPlace& place,
                                        const JoinOptions& options);

bool has_nccl();
std::unique_ptr<Communicator> join_nccl(const RankPlace& place,
                                        const JoinOptions& options);

bool has_mpi();
std::unique_ptr<Communicator> join_mpi(const RankPlace& place,
                                       const JoinOptions& options);

/// One rank, as alone().
std::unique_ptr<Communicator> make_alone();

}  // namespace kith
