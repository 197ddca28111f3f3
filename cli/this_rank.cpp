#include "cli/this_rank.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "cli/common.h"
#include "kith/distributed/local_ranks.h"

namespace kith {
namespace {

RankPlace& place_of_program() {
  static RankPlace place;
  return place;
}

std::unique_ptr<Communicator>& joined_ranks() {
  static std::unique_ptr<Communicator> ranks;
  return ranks;
}

/// What anybody prints goes nowhere.
void close_standard_output() {
  std::fflush(stdout);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

}  // namespace

void be_rank(const RankPlace& place) {
  place_of_program() = place;
  if (speaks()) return;
  close_standard_output();
  progress_bar().mute();
}

const RankPlace& this_place() { return place_of_program(); }

bool speaks() { return this_place().rank == 0; }

std::string rank_prefix() {
  if (this_place().size == 1) return "";
  return "rank " + std::to_string(this_place().rank) + ": ";
}

Communicator& join_as_rank(const JoinOptions& options) {
  if (!joined_ranks()) joined_ranks() = join_ranks(this_place(), options);
  return *joined_ranks();
}

void leave_ranks() { joined_ranks().reset(); }

int end_failed_rank(int status, const std::string& message) {
  if (this_place().size == 1) return status;
  if (joined_ranks()) joined_ranks()->tell_failure(message);
  leave_ranks();
  std::fflush(nullptr);
  std::_Exit(status);
}

int wait_as_follower() {
  if (!this_place().store_file.empty()) return kFollowerStatus;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  return 1;
}

}  // namespace kith
