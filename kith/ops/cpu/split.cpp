#include <cmath>

#include "kith/ops/split_kernels.h"

namespace kith {

void split_on_cpu(const SplitBlock& block, const RowLaunch& launch) {
  const int64_t dim = block.dim;
  for (int64_t row = launch.begin; row < launch.end; ++row) {
    const float* x = block.x + row * dim;
    Bf16* joined =
        block.joined == nullptr ? nullptr : block.joined + row * block.width;
    double low_square = 0;
    double rest_square = 0;
    for (int64_t i = 0; i < dim; ++i) {
      const Bf16 high = narrow<Bf16>(x[i]);
      // Both differences are exact: they have fewer bits than x.
      const float left = x[i] - widen(high);
      const Bf16 low = narrow<Bf16>(left);
      const double rest = left - widen(low);
      low_square += double{widen(low)} * double{widen(low)};
      rest_square += rest * rest;
      if (joined == nullptr) continue;
      joined[i] = block.low_first ? low : high;
      joined[dim + i] = block.low_first ? high : low;
      joined[2 * dim + i] = high;
    }
    for (int64_t i = 3 * dim; joined != nullptr && i < block.width; ++i) {
      joined[i] = Bf16{};
    }
    if (block.left == nullptr) continue;
    block.left[2 * row] = std::sqrt(low_square);
    block.left[2 * row + 1] = std::sqrt(rest_square);
  }
}

}  // namespace kith
