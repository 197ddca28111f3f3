#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "kith/distributed/communicator.h"
#include "kith/distributed/launch.h"

namespace kith {

struct JoinOptions {
  /// "auto", "gloo", "nccl" or "mpi".
  std::string engine = "auto";
  /// Where this rank computes.
  c10::Device device{c10::kCPU};
  /// How long a call waits for the others. 0: KITH_TIMEOUT of the environment,
  /// in seconds, or 30 minutes.
  std::chrono::milliseconds timeout{0};
  /// How long to wait until all have come. 0: KITH_CONNECT_TIMEOUT, or a
  /// minute.
  std::chrono::milliseconds connect_timeout{0};
};

/// Finds the other ranks. Returns when all have come, or throws: ConfigError if
/// there is no such engine, RunError if a rank cannot be reached. One rank is
/// alone(), unless an engine is named: then it takes the way of several.
std::unique_ptr<Communicator> join_ranks(const RankPlace& place,
                                         const JoinOptions& options);

/// The engines of this build, such as {"gloo", "mpi"}.
std::vector<std::string> built_engines();

/// "gloo, mpi", or "none built in".
std::string engines_text();

/// ConfigError unless this build has an engine of this name, or any if it is
/// "auto".
void check_engine(const std::string& engine);

/// What "auto" comes to, or a ConfigError. `gpus`: on this machine.
std::string choose_engine(const RankPlace& place, const JoinOptions& options,
                          const std::vector<std::string>& built, int64_t gpus);

}  // namespace kith
