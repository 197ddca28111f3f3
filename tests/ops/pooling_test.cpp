#include "kith/ops/pooling.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/fused_way.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr double kFloor = 1e-6;

Tensor gem_of_layers(const Tensor& x, const Tensor& p) {
  return x.clamp_min(kFloor).pow(p).mean({2, 3}).pow(p.reciprocal());
}

Tensor max_of_layers(const Tensor& x) { return torch::max_pool2d(x, 3, 2, 1); }

using PoolGradients = std::vector<Tensor>;

PoolGradients gradients_of(const Tensor& y, const std::vector<Tensor>& leaves) {
  const Tensor gradient = random_normal(y.sizes().vec(), 9).to(y.options());
  return torch::autograd::grad({y}, leaves, {gradient});
}

double relative_difference(const Tensor& a, const Tensor& b) {
  const Tensor wide = b.detach().cpu().to(at::kDouble);
  return ((a.detach().cpu().to(at::kDouble) - wide).norm() / wide.norm())
      .item<double>();
}

/// Maps of several sizes; half of the numbers are below the floor.
std::vector<Tensor> maps() {
  std::vector<Tensor> all;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {2, 8, 5, 7}, {1, 16, 1, 1}, {3, 24, 8, 6}, {2, 8, 2, 9}}) {
    all.push_back(random_normal(sizes, 1 + all.size()));
  }
  return all;
}

TEST(Pooling, GemIsThatOfTheLayersInDouble) {
  const FusedOnCpu fused;
  for (const bool last : {false, true}) {
    for (const Tensor& map : maps()) {
      const Tensor x =
          (last ? map.contiguous(at::MemoryFormat::ChannelsLast) : map.clone())
              .requires_grad_();
      const Tensor p = torch::full({1}, 2.7, at::kDouble).requires_grad_();
      ASSERT_TRUE(can_pool(x));
      const Tensor y = gem_pool(x, p, kFloor);
      const Tensor expected = gem_of_layers(x, p);
      EXPECT_LE(relative_difference(y, expected), 1e-14);
      const PoolGradients made = gradients_of(y, {x, p});
      const PoolGradients wanted = gradients_of(expected, {x, p});
      EXPECT_LE(relative_difference(made[0], wanted[0]), 1e-12);
      // Of a single position it is 0 but for rounding.
      EXPECT_LE(max_difference(made[1], wanted[1]), 1e-13);
    }
  }
}

TEST(Pooling, MaxIsThatOfTheLayer) {
  const FusedOnCpu fused;
  for (const Tensor& map : maps()) {
    // Ties, of which the first position gets the gradient.
    for (const Tensor& numbers : {map, map.round()}) {
      const Tensor x = numbers.clone().requires_grad_();
      const Tensor y = max_pool_3x3(x);
      const Tensor expected = max_of_layers(x);
      EXPECT_EQ(max_difference(y, expected), 0);
      EXPECT_LE(max_difference(gradients_of(y, {x})[0],
                               gradients_of(expected, {x})[0]),
                1e-15);
    }
  }
}

TEST(Pooling, NanStaysNan) {
  const FusedOnCpu fused;
  Tensor x = random_normal({1, 8, 5, 5}, 1);
  x[0][3][2][2] = std::numeric_limits<double>::quiet_NaN();
  const Tensor p = torch::full({1}, 3.0, at::kDouble);
  EXPECT_EQ(gem_pool(x, p, kFloor).isnan().sum().item<int64_t>(), 1);
  EXPECT_TRUE(torch::equal(max_pool_3x3(x).isnan(), max_of_layers(x).isnan()));
}

TEST(Pooling, RefusesASecondDerivative) {
  const FusedOnCpu fused;
  const Tensor x = random_normal({1, 8, 5, 5}, 1).requires_grad_();
  const Tensor p = torch::full({1}, 3.0, at::kDouble);
  for (const Tensor& y : {gem_pool(x, p, kFloor), max_pool_3x3(x)}) {
    EXPECT_THROW(torch::autograd::grad({y.sum()}, {x}, {}, true, true),
                 c10::Error);
  }
}

TEST(Pooling, OnAGpuIsThatOfTheLayersInBfloat16) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  std::vector<Tensor> all = maps();
  all.push_back(random_normal({5, 1280, 7, 7}, 20));
  all.push_back(random_normal({3, 64, 57, 40}, 21));
  for (const Tensor& map : all) {
    const Tensor x = map.to(at::kCUDA)
                         .to(at::kBFloat16)
                         .contiguous(at::MemoryFormat::ChannelsLast)
                         .requires_grad_();
    const Tensor wide = x.detach().to(at::kDouble).requires_grad_();
    ASSERT_TRUE(can_pool(x));
    const Tensor p = torch::full({1}, 2.7, x.options().dtype(at::kFloat))
                         .detach()
                         .requires_grad_();
    const Tensor wide_p = p.detach().to(at::kDouble).requires_grad_();
    const Tensor y = gem_pool(x, p, kFloor);
    const Tensor expected = gem_of_layers(wide, wide_p);
    EXPECT_LE(relative_difference(y, expected), 1e-5);
    const PoolGradients made = gradients_of(y, {x, p});
    const PoolGradients wanted = gradients_of(expected, {wide, wide_p});
    EXPECT_LE(relative_difference(made[0], wanted[0]), 4e-3);
    EXPECT_LE(max_difference(made[1], wanted[1]), 1e-3);

    const Tensor largest = max_pool_3x3(x);
    const Tensor largest_wide = max_of_layers(wide);
    EXPECT_EQ(max_difference(largest, largest_wide), 0);
    EXPECT_LE(relative_difference(gradients_of(largest, {x})[0],
                                  gradients_of(largest_wide, {wide})[0]),
              4e-3);
  }
}

}  // namespace
}  // namespace kith
