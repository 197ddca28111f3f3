#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kith {

// The inner loops of resize(), compiled for several kinds of processor.

/// Weights are integers with this many fractional bits: 32 less 8 of the pixel
/// less 2 of headroom for the cubic's overshoot. The sums are exact, so that
/// every way to compute them gives the same pixels.
constexpr int kResizePrecision = 22;

/// Output i is the weighted sum of the sources [first[i], first[i] + taps).
/// The same number everywhere, if need be with weights of 0, is quicker than
/// loops whose end the processor cannot foresee.
struct ResizeWeights {
  int taps = 0;
  std::vector<int> first;
  std::vector<int32_t> values;  ///< [outputs, taps]
  /// [outputs, pairs] of two taps each, 16 bits a weight: value = high 2^11 +
  /// low, for processors that multiply pairs of such numbers at once.
  std::vector<int32_t> high, low;

  size_t outputs() const { return first.size(); }
  const int32_t* of(size_t index) const {
    return values.data() + index * static_cast<size_t>(taps);
  }
  int pairs() const { return (taps + 1) / 2; }

  /// Makes `high` and `low`, which rgb_row() needs.
  void split();
};

/// Writes a grey pixel an output.
void resize_grey_row(const uint8_t* source, const ResizeWeights& weights,
                     uint8_t* target);

struct ResizeKernels {
  /// Bytes after the last pixel that rgb_row() may read, but does not use.
  static constexpr size_t kBeyond = 5;

  /// Writes an RGB pixel an output, with weights that are split.
  void (*rgb_row)(const uint8_t* source, const ResizeWeights& weights,
                  uint8_t* target);
  /// The weighted sum of `count` rows of `length` bytes that follow each other.
  void (*mix_rows)(const uint8_t* rows, size_t length, int count,
                   const int32_t* weights, uint8_t* target);
};

/// For any processor, and the best ones for this processor.
const ResizeKernels& plain_resize_kernels();
const ResizeKernels& resize_kernels();

}  // namespace kith
