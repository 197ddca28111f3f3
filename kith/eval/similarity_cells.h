#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace kith {

// Thresholds of similarities are multiples of 2^-20 from -1 to 1. What is at
// least t is accepted; then so is its cell, the multiple at or below it. Counts
// by cell are therefore exact at every threshold without keeping a similarity,
// and a threshold is a float32, as similarities are.

constexpr int64_t kCellsPerUnit = int64_t{1} << 20;
constexpr int64_t kCells = 2 * kCellsPerUnit + 1;

/// From 0, that of -1, to kCells - 1, that of 1; what rounding put outside is
/// at the ends.
inline int64_t cell_of(double similarity) {
  // A product with a power of two is exact, a sum would not be.
  const double cell = std::clamp(similarity, -1.0, 1.0) * kCellsPerUnit;
  return static_cast<int64_t>(std::floor(cell)) + kCellsPerUnit;
}

/// The threshold that accepts this cell and those above.
inline double threshold_of(int64_t cell) {
  return static_cast<double>(cell - kCellsPerUnit) / kCellsPerUnit;
}

}  // namespace kith
