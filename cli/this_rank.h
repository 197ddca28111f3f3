#pragma once

#include <string>

#include "kith/distributed/communicator.h"
#include "kith/distributed/join.h"
#include "kith/distributed/launch.h"

namespace kith {

// The program as one of several ranks. A command that knows nothing of ranks
// never calls be_rank(), and everything here is as of one process.

/// Says which rank this is. From then on a rank other than the first has no
/// standard output and no progress bar, and of its log only warnings.
void be_rank(const RankPlace& place);
const RankPlace& this_place();

/// Whether this process says what there is to say: the first rank does.
bool speaks();

/// "rank 2: " before the messages of one of several ranks, else "".
std::string rank_prefix();

/// Finds the others; they stay joined until leave_ranks().
Communicator& join_as_rank(const JoinOptions& options);

/// The orderly end of all ranks.
void leave_ranks();

/// The end of a rank that failed: tells the others, and does not come back if
/// there are any, for nothing that waits for them is waited for. Alone, the
/// status.
int end_failed_rank(int status, const std::string& message);

/// Of a rank that ends because of another: lets that one be the first to end,
/// for whoever started them takes the status of the first, and returns its own
/// exit status.
int wait_as_follower();

}  // namespace kith
