#pragma once

// Rows whose numbers are split in two bfloat16, for products on tensor cores:
// x = high + low + rest. Plain structs, without LibTorch; cpu/ and cuda/ have
// an implementation each, which give the same bits but for sums of `left`.

#include "kith/ops/bf16.h"
#include "kith/ops/rows/table.h"

namespace kith {

struct SplitBlock {
  const float* x = nullptr;  ///< [rows, dim], contiguous
  int64_t dim = 0;
  /// [rows, width] gets [low high high], or [high low high], and zeros behind;
  /// or null.
  Bf16* joined = nullptr;
  int64_t width = 0;  ///< 3 dim or more.
  bool low_first = true;
  double* left = nullptr;  ///< [rows, 2] gets |low| and |rest|; or null.
};

/// Over rows. The one for CUDA does nothing in a build without.
void split_on_cpu(const SplitBlock& block, const RowLaunch& launch);
void split_on_cuda(const SplitBlock& block, const RowLaunch& launch);

}  // namespace kith
