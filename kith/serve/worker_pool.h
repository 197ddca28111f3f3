#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kith {

/// Threads that do jobs in the order they come in. No more than `queue` wait.
class WorkerPool {
 public:
  WorkerPool(int64_t threads, int64_t queue);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False if too many wait, or the pool has stopped. A job throws nothing.
  bool post(std::function<void()> job);

  /// Returns when the jobs in work are done; those that wait are dropped.
  void stop();

 private:
  void work();

  size_t queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kith
