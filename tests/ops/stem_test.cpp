#include "kith/ops/stem.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// As the header says it, number by number.
Tensor expected_map(const Tensor& x, int64_t kernel, at::ScalarType type) {
  const int64_t odd = (kernel - 1) / 2 % 2;
  const int64_t taps = (kernel + odd + 1) / 2;
  const int64_t before = ((kernel - 1) / 2 + odd) / 2;
  const int64_t channels = x.size(1);
  const Tensor y = torch::zeros(
      {x.size(0), 16, x.size(2) / 2 + taps - 1, x.size(3) / 2 + taps - 1},
      x.options().dtype(type));
  for (int64_t row = 0; row < x.size(2); ++row) {
    for (int64_t column = 0; column < x.size(3); ++column) {
      const int64_t at = (row % 2 * 2 + column % 2) * channels;
      y.narrow(1, at, channels)
          .select(2, row / 2 + before)
          .select(2, column / 2 + before)
          .copy_(x.select(2, row).select(2, column));
    }
  }
  return y;
}

void expect_maps_on(c10::Device device, at::ScalarType from,
                    at::ScalarType type) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    for (const int64_t kernel : {3, 5, 7}) {
      const Tensor x =
          random_normal({2, channels, 6, 10}, 7, at::kFloat).to(from);
      const Tensor map = stem_map(x.to(device), kernel, type);
      EXPECT_TRUE(map.is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_EQ(map.scalar_type(), type);
      EXPECT_TRUE(torch::equal(map.cpu(), expected_map(x, kernel, type)))
          << channels << " channels, kernel " << kernel;
    }
  }
}

TEST(StemMap, HasEverySecondPositionAsAChannel) {
  expect_maps_on(at::kCPU, at::kFloat, at::kFloat);
  expect_maps_on(at::kCPU, at::kDouble, at::kDouble);
  expect_maps_on(at::kCPU, at::kBFloat16, at::kBFloat16);
}

TEST(StemMap, RoundsPicturesOfFloat) {
  expect_maps_on(at::kCPU, at::kFloat, at::kBFloat16);
}

TEST(StemMap, IsTheSameOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU here";
  expect_maps_on(at::kCUDA, at::kFloat, at::kBFloat16);
  expect_maps_on(at::kCUDA, at::kBFloat16, at::kBFloat16);
}

}  // namespace
}  // namespace kith
