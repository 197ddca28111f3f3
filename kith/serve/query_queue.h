#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/image/image.h"
#include "kith/serve/search_service.h"
#include "kith/serve/serve_metrics.h"

namespace kith {

/// A search that waits.
struct Query {
  SharedIndex index;            ///< To be searched; null: only embed.
  std::vector<Image> pictures;  ///< Of an image; empty if there is a vector.
  Tensor vector;                ///< [1, dim]
  int64_t exclude = -1;         ///< The item that is searched with.
  int64_t k = 0;
  std::string label;
  Deadline deadline = kNoDeadline;
  Deadline since = {};  ///< When it came into the queue.
  SearchService::Done done;
  SearchService::Embedded embedded;  ///< Instead of `done`.

  int64_t bytes() const;  ///< Of the pictures.
};

/// Searches that wait for the thread of a service, bounded by their number and
/// by the bytes of their pictures. Safe from several threads.
class QueryQueue {
 public:
  explicit QueryQueue(const ServiceOptions& options);

  /// BusyError if there is no place; asked before an image is made small.
  void check_place() const;

  /// BusyError as well.
  void push(Query query);

  /// The next batch, at least one query; none when the queue stops.
  std::vector<Query> take();

  /// What waits still, after stop().
  std::deque<Query> take_rest();

  /// Nothing is added or taken as a batch from now on.
  void stop();

  ServiceStats stats() const;

 private:
  void check_place_locked(int64_t bytes) const;

  int64_t batch_;
  int64_t wait_ms_;
  int64_t most_;
  int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Query> queue_;
  int64_t bytes_ = 0;  ///< Of all in it.
  bool stopped_ = false;
  /// When the first of the batch in work came; none: the service is idle.
  std::optional<Deadline> busy_since_;
  CountHistogram<kBatchBounds.size()> batches_;
};

}  // namespace kith
