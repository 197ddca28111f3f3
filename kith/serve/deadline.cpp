#include "kith/serve/deadline.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace kith {
namespace {

/// Threads that wait for calls. Never destroyed, for one that hangs may end
/// when all else is gone.
class CallThreads {
 public:
  void start(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    if (hanging_ >= kMostHangingCalls) {
      throw BusyError(std::to_string(hanging_) +
                      " pictures hang: is a disk gone?");
    }
    jobs_.push_back(std::move(job));
    if (idle_ >= jobs_.size()) {
      changed_.notify_one();
      return;
    }
    std::thread([this] { work(); }).detach();
  }

  void count_hanging(int64_t change) {
    const std::lock_guard lock(mutex_);
    hanging_ += change;
  }

  int64_t hanging() {
    const std::lock_guard lock(mutex_);
    return hanging_;
  }

 private:
  void work() {
    constexpr std::chrono::seconds kPatience(10);
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      const bool has_job =
          changed_.wait_for(lock, kPatience, [this] { return !jobs_.empty(); });
      --idle_;
      if (!has_job) return;
      {
        const std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  size_t idle_ = 0;
  int64_t hanging_ = 0;
};

CallThreads& call_threads() {
  static auto& threads = *new CallThreads;
  return threads;
}

}  // namespace

namespace detail {

void start_call(std::function<void()> job) {
  call_threads().start(std::move(job));
}

void count_hanging(int64_t change) { call_threads().count_hanging(change); }

}  // namespace detail

int64_t hanging_calls() { return call_threads().hanging(); }

}  // namespace kith
