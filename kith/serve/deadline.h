#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "kith/core/error.h"

namespace kith {

/// When a request must be answered by.
using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

/// Too much waits, or takes too long, or the service has stopped: try again
/// later.
class BusyError : public RunError {
 public:
  using RunError::RunError;
};

namespace detail {

/// Begins a job on a thread of its own. BusyError if too many hang.
void start_call(std::function<void()> job);

/// Counts one that is given up, or that ended after all.
void count_hanging(int64_t change);

}  // namespace detail

/// Calls that were given up and have not ended yet.
int64_t hanging_calls();
/// So many may hang at a time; then no more are begun.
constexpr int64_t kMostHangingCalls = 64;

/// Does what may never end, such as a decoder that a picture was made for, or
/// a disk that does not answer, on another thread. Returns or throws what it
/// does; when the deadline passes, BusyError: then the thread is given up and
/// ends when it can. So the work must own all that it uses.
template <class T>
T call_until(Deadline deadline, std::function<T()> work) {
  enum State { kRuns, kDone, kGivenUp };
  struct Call {
    std::packaged_task<T()> task;
    std::atomic<State> state = kRuns;
  };
  const auto call = std::make_shared<Call>();
  call->task = std::packaged_task<T()>(std::move(work));
  std::future<T> result = call->task.get_future();
  detail::start_call([call] {
    call->task();
    if (call->state.exchange(kDone) == kGivenUp) detail::count_hanging(-1);
  });
  if (deadline == kNoDeadline) return result.get();
  if (result.wait_until(deadline) == std::future_status::timeout) {
    detail::count_hanging(1);
    State runs = kRuns;
    if (call->state.compare_exchange_strong(runs, kGivenUp)) {
      throw BusyError("a picture took too long to read, and was given up");
    }
    detail::count_hanging(-1);
  }
  return result.get();
}

}  // namespace kith
