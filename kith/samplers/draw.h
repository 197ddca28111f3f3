#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kith/core/rng.h"
#include "kith/samplers/classes.h"

namespace kith {

/// `count` different numbers of [0, n), in random order. O(count).
std::vector<int64_t> draw_distinct(int64_t n, int64_t count, Rng& rng);

/// Draws images of classes for one batch: no image comes twice while its class
/// has others. Refers to `classes`, which must outlive it.
class ClassDraw {
 public:
  explicit ClassDraw(const ClassImages& classes) : classes_(&classes) {}

  /// An image of class c, uniformly of those that have not been drawn; of all
  /// once more where all have been.
  int64_t draw(size_t c, Rng& rng);

  /// Counts an image of class c as drawn.
  void take(size_t c, int64_t image);

 private:
  const ClassImages* classes_;
  /// Positions drawn, ascending, by class.
  std::unordered_map<size_t, std::vector<size_t>> drawn_;
};

}  // namespace kith
