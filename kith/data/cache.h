#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kith/data/data_set.h"

namespace kith {

/// Keeps decoded pictures of a data set in memory, so that later epochs need
/// not decode them again. Never changes what is loaded; safe to use from
/// several threads.
///
/// Pictures are kept until the budget is spent; later ones are decoded each
/// time. Nothing is evicted: an epoch touches every picture once, so each would
/// be evicted just before its turn.
class ImageCache {
 public:
  /// `data` must outlive the cache. A budget of 0 keeps nothing.
  ImageCache(const DataSet& data, int64_t budget_bytes);

  /// The picture from memory, or else from data.load().
  std::shared_ptr<const Image> load(int64_t index);

  struct Stats {
    int64_t count = 0;  ///< Pictures kept,
    int64_t bytes = 0;  ///< and their size.
    bool full = false;  ///< Whether a picture found no room.
  };
  Stats stats() const;

 private:
  const DataSet& data_;
  const int64_t budget_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Image>> kept_;
  Stats stats_;
};

}  // namespace kith
