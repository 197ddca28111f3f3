#include "kith/serve/query_queue.h"

#include <chrono>
#include <utility>

namespace kith {

int64_t Query::bytes() const {
  size_t sum = 0;
  for (const Image& picture : pictures) sum += picture.pixels.size();
  return static_cast<int64_t>(sum);
}

QueryQueue::QueryQueue(const ServiceOptions& options)
    : batch_(options.batch),
      wait_ms_(options.wait_ms),
      most_(options.queue),
      most_bytes_(options.queue_bytes) {}

void QueryQueue::check_place() const {
  const std::lock_guard lock(mutex_);
  check_place_locked(0);
}

void QueryQueue::push(Query query) {
  {
    const std::lock_guard lock(mutex_);
    const int64_t bytes = query.bytes();
    check_place_locked(bytes);
    bytes_ += bytes;
    query.since = std::chrono::steady_clock::now();
    queue_.push_back(std::move(query));
  }
  changed_.notify_one();
}

std::vector<Query> QueryQueue::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
  const auto full = static_cast<size_t>(batch_);
  changed_.wait_for(lock, std::chrono::milliseconds(wait_ms_),
                    [this, full] { return stopped_ || queue_.size() >= full; });
  std::vector<Query> batch;
  while (!stopped_ && !queue_.empty() && batch.size() < full) {
    bytes_ -= queue_.front().bytes();
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  busy_since_.reset();
  if (!batch.empty()) {
    busy_since_ = batch.front().since;
    batches_.add(static_cast<double>(batch.size()), kBatchBounds);
  }
  return batch;
}

std::deque<Query> QueryQueue::take_rest() {
  const std::lock_guard lock(mutex_);
  bytes_ = 0;
  return std::exchange(queue_, {});
}

void QueryQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

ServiceStats QueryQueue::stats() const {
  const std::lock_guard lock(mutex_);
  ServiceStats stats;
  stats.queued = static_cast<int64_t>(queue_.size());
  stats.most_queued = most_;
  stats.batches = batches_;
  const std::chrono::duration<double> waits =
      busy_since_ ? std::chrono::steady_clock::now() - *busy_since_
                  : std::chrono::steady_clock::duration();
  stats.longest_wait = waits.count();
  return stats;
}

/// For pictures of `bytes`. Those of a single search always have place: it
/// could never be done otherwise.
void QueryQueue::check_place_locked(int64_t bytes) const {
  if (stopped_) throw BusyError("the search service has stopped");
  if (static_cast<int64_t>(queue_.size()) >= most_) {
    throw BusyError("too many searches wait already (" + std::to_string(most_) +
                    ")");
  }
  if (bytes_ > 0 && bytes_ + bytes > most_bytes_) {
    throw BusyError("the pictures of the searches that wait are too large (" +
                    std::to_string(bytes_) + " bytes already)");
  }
}

}  // namespace kith
