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

  size_t outputs() const { return first.size(); }
  const int32_t* of(size_t index) const {
    return values.data() + index * static_cast<size_t>(taps);
  }
};

/// Writes a grey pixel an output.
void resize_grey_row(const uint8_t* source, const ResizeWeights& weights,
                     uint8_t* target);

struct ResizeKernels {
  /// Writes an RGB pixel an output. May read, but does not use, the byte that
  /// follows the last pixel.
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
