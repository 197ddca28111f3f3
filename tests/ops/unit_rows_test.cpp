#include "kith/ops/unit_rows.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/fused_way.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// The rows and their gradient, given that of the unit vectors.
std::pair<Tensor, Tensor> unit_and_gradient(const Tensor& x,
                                            const Tensor& outer) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  const Tensor unit = normalize_rows(leaf);
  unit.backward(outer.to(unit.options()));
  return {unit.detach(), leaf.grad()};
}

/// Rows of several scales, one of zeros, one of numbers below the smallest
/// normal one.
Tensor hostile_rows(int64_t rows, int64_t width, at::ScalarType type) {
  Tensor x = random_normal({rows, width}, 1).to(type);
  const double scale = type == at::kDouble ? 0x1p900 : 0x1p120;
  x[1].mul_(scale);
  x[2].div_(scale);
  x[3].zero_();
  x[4].fill_(type == at::kDouble ? 0x1p-1040 : 0x1p-130);
  return x;
}

/// Against LibTorch's operations in double, given rows of usual scale. Rows 3
/// and 4 stay as they are, and so do their gradients.
void expect_unit(const Tensor& x, c10::Device device, double rounding) {
  const Tensor outer = random_normal(x.sizes().vec(), 2).to(x.scalar_type());
  const Tensor wide = x.to(at::kDouble);
  const Tensor scales = row_scales(wide);
  const auto expected = [&] {
    const LayersAlone alone;
    return unit_and_gradient(wide / scales, outer);
  }();
  ASSERT_TRUE(can_unit_rows(x.to(device)));
  const auto made = unit_and_gradient(x.to(device), outer.to(device));
  const Tensor unit = made.first.cpu().to(at::kDouble);
  const Tensor gradient = made.second.cpu().to(at::kDouble);
  for (int64_t row = 0; row < x.size(0); ++row) {
    SCOPED_TRACE(testing::Message() << row << ", " << x.size(1));
    if (row == 3 || row == 4) {
      EXPECT_TRUE(same_bits(unit[row], wide[row]));
      EXPECT_TRUE(same_bits(gradient[row], outer[row].to(at::kDouble)));
      continue;
    }
    EXPECT_LE(max_difference(unit[row], expected.first[row]), rounding);
    // What is along the row goes, and leaves its rounding.
    const double size =
        (outer[row].norm() / (wide[row] / scales[row]).norm()).item<double>();
    EXPECT_LE(max_difference(gradient[row] * scales[row], expected.second[row]),
              rounding * size);
  }
}

TEST(UnitRows, AreThoseOfLibTorchInDouble) {
  const FusedOnCpu fused;
  for (const int64_t width : {1, 7, 64, 300}) {
    expect_unit(hostile_rows(9, width, at::kDouble), c10::kCPU, 1e-14);
  }
}

TEST(UnitRows, HaveBothDerivatives) {
  const FusedOnCpu fused;
  const Tensor x = random_normal({3, 5}, 1).requires_grad_();
  const Tensor outer = random_normal({3, 5}, 2);
  const auto slope = [&](const Tensor& at, bool graph) {
    return torch::autograd::grad({(normalize_rows(at) * outer).sum()}, {at}, {},
                                 true, graph)[0];
  };
  const Tensor first = slope(x, true);
  const Tensor other = random_normal({3, 5}, 3);
  const Tensor second = torch::autograd::grad({(first * other).sum()}, {x})[0];
  constexpr double kStep = 1e-5;
  for (int64_t i = 0; i < x.numel(); ++i) {
    Tensor up = x.detach().clone(), down = x.detach().clone();
    up.view(-1)[i] += kStep;
    down.view(-1)[i] -= kStep;
    const Tensor value =
        ((normalize_rows(up) - normalize_rows(down)) * outer).sum() /
        (2 * kStep);
    EXPECT_NEAR(first.view(-1)[i].item<double>(), value.item<double>(), 1e-9);
    const Tensor change = (slope(up.requires_grad_(), false) -
                           slope(down.requires_grad_(), false)) /
                          (2 * kStep);
    EXPECT_NEAR(second.view(-1)[i].item<double>(),
                (change * other).sum().item<double>(), 1e-8);
  }
}

TEST(UnitRows, AreTheSameAtAnyScale) {
  const FusedOnCpu fused;
  const Tensor x = random_normal({6, 40}, 1, at::kFloat);
  const Tensor outer = random_normal({6, 40}, 2, at::kFloat);
  const auto [unit, gradient] = unit_and_gradient(x, outer);
  for (const double scale : {0x1p67, 0x1p-84, 0x1p120, 0x1p-110}) {
    const auto [scaled_unit, scaled_gradient] =
        unit_and_gradient(x * scale, outer);
    EXPECT_TRUE(same_bits(scaled_unit, unit)) << scale;
    EXPECT_TRUE(same_bits(scaled_gradient, gradient / scale)) << scale;
  }
}

TEST(UnitRows, KeepWhatIsNotFiniteInItsRow) {
  const FusedOnCpu fused;
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    Tensor x = random_normal({3, 4}, 1, at::kFloat);
    const Tensor before = normalize_rows(x);
    x[1][2] = bad;
    const Tensor unit = normalize_rows(x);
    EXPECT_TRUE(unit[1].isnan().all().item<bool>()) << unit;
    EXPECT_TRUE(same_bits(unit[0], before[0]));
    EXPECT_TRUE(same_bits(unit[2], before[2]));
  }
}

TEST(UnitRows, TakeRowsOfOthersAndNone) {
  const FusedOnCpu fused;
  const Tensor x = random_normal({6, 8}, 1);
  const Tensor columns = x.t();
  EXPECT_LE(max_difference(normalize_rows(columns).norm(2, 1),
                           torch::ones({8}, at::kDouble)),
            1e-15);
  EXPECT_EQ(normalize_rows(x.narrow(0, 0, 0)).size(0), 0);
}

// 5e-7 is eight roundings of float32: of the sum, its root, two quotients.
TEST(UnitRows, OnAGpuAreThoseOfLibTorchInDouble) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const int64_t width : {1, 3, 33, 512, 1280, 2048}) {
    expect_unit(hostile_rows(41, width, at::kDouble), c10::kCUDA, 1e-14);
    const Tensor x = hostile_rows(41, width, at::kFloat);
    expect_unit(x, c10::kCUDA, 5e-7);
    EXPECT_TRUE(same_bits(normalize_rows(x.to(at::kCUDA)),
                          normalize_rows(x.to(at::kCUDA))));
  }
}

}  // namespace
}  // namespace kith
