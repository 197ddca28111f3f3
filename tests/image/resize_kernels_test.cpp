#include "kith/image/resize_kernels.h"

#include <vector>

#include <gtest/gtest.h>

#include "kith/core/rng.h"

namespace kith {
namespace {

std::vector<uint8_t> random_bytes(size_t count, Rng& rng) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.below(256));
  return bytes;
}

// Weights that add up to about 1, beyond [0, 1] like those of a cubic.
std::vector<int32_t> random_weights(size_t count, Rng& rng) {
  constexpr int32_t kOne = 1 << kResizePrecision;
  std::vector<int32_t> weights(count);
  for (int32_t& weight : weights) {
    weight = static_cast<int32_t>(rng.between(-kOne / 8, kOne / 3));
  }
  return weights;
}

TEST(ResizeKernels, AllGiveTheSameRows) {
  Rng rng(0, Stream::kReport);
  for (int taps = 1; taps <= 9; ++taps) {
    constexpr size_t kOutputs = 37;
    const std::vector<uint8_t> source =
        random_bytes(3 * 50 + ResizeKernels::kBeyond, rng);
    ResizeWeights weights;
    weights.taps = taps;
    for (size_t i = 0; i < kOutputs; ++i) {
      weights.first.push_back(static_cast<int>(rng.between(0, 50 - taps)));
    }
    weights.values = random_weights(kOutputs * static_cast<size_t>(taps), rng);
    weights.split();
    std::vector<uint8_t> plain(3 * kOutputs);
    std::vector<uint8_t> best(3 * kOutputs);
    plain_resize_kernels().rgb_row(source.data(), weights, plain.data());
    resize_kernels().rgb_row(source.data(), weights, best.data());
    EXPECT_EQ(best, plain) << taps;
  }
}

TEST(ResizeKernels, AllMixRowsTheSame) {
  Rng rng(1, Stream::kReport);
  for (const size_t length : {1, 15, 16, 17, 100, 1023, 1024, 1025, 3000}) {
    for (const int count : {1, 2, 5}) {
      const auto rows = static_cast<size_t>(count);
      const std::vector<uint8_t> source = random_bytes(rows * length, rng);
      const std::vector<int32_t> weights = random_weights(rows, rng);
      std::vector<uint8_t> plain(length);
      std::vector<uint8_t> best(length);
      plain_resize_kernels().mix_rows(source.data(), length, count,
                                      weights.data(), plain.data());
      resize_kernels().mix_rows(source.data(), length, count, weights.data(),
                                best.data());
      EXPECT_EQ(best, plain) << length << " x " << count;
    }
  }
}

}  // namespace
}  // namespace kith
