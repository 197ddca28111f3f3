#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kith/core/rng.h"
#include "kith/samplers/classes.h"

namespace kith {

/// The images of classes in a row: classes in random order, the images of each
/// side by side in random order. Batches are cut from it one after another, so
/// a batch holds whole classes but for those at its two ends, and every image
/// is used before one repeats.
class ImageRow {
 public:
  ImageRow(ClassImages classes, Rng& rng);

  /// Adds the next `count` images to `batch`, going round: a class cut by the
  /// end of a batch goes on in the next. `count` is at most size(), so that no
  /// image comes twice.
  void take(size_t count, std::vector<int64_t>& batch);

  size_t size() const { return images_.size(); }

 private:
  std::vector<int64_t> images_;
  size_t next_ = 0;
};

}  // namespace kith
