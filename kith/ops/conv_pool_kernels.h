#pragma once

// A 3x3 convolution of pictures and the pooling behind it. Plain structs,
// without LibTorch.

#include <cstdint>

namespace kith {

struct ConvPool {
  static constexpr int64_t kTaps = 9;
  static constexpr int64_t kMostChannels = 4;
  static constexpr int64_t kWidest = 16;  ///< Filters are a multiple of this.

  const float* images = nullptr;  ///< [N, C, H, W] with these strides
  int64_t strides[4] = {};
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t filters = 0;
  const float* weight = nullptr;  ///< [C 9, F]
  float* pooled = nullptr;        ///< [N, H/2, W/2, F]
  uint8_t* place = nullptr;       ///< The same: which of the four was largest.
};

/// Of a kind of processor, for pictures [begin, end).
struct ConvPoolKernels {
  void (*forward)(const ConvPool&, int64_t begin, int64_t end) = nullptr;
  /// Adds the gradient of `weight` to `sum` [C 9, F]; `gradient` as `pooled`.
  void (*backward)(const ConvPool&, const float* gradient, float* sum,
                   int64_t begin, int64_t end) = nullptr;
};

extern const ConvPoolKernels plain_conv_pool;
extern const ConvPoolKernels avx2_conv_pool;
extern const ConvPoolKernels avx512_conv_pool;

}  // namespace kith
