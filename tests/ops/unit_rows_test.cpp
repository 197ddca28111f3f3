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

TEST(UnitRows, AreThoseOfLibTorchInDouble) {
  for (const int64_t width : {1, 7, 64, 300}) {
    const Tensor x = hostile_rows(9, width, at::kDouble);
    const Tensor outer = random_normal({9, width}, 2);
    const auto expected = unit_and_gradient(x, outer);
    const FusedOnCpu fused;
    ASSERT_TRUE(can_unit_rows(x));
    const auto made = unit_and_gradient(x, outer);
    EXPECT_LE(max_difference(made.first, expected.first), 1e-15);
    for (int64_t row = 0; row < 9; ++row) {
      // Of one number nothing is left but what was rounded.
      const double size = width == 1
                              ? outer[row].abs().max().item<double>() /
                                    row_scales(x)[row].item<double>()
                              : expected.second[row].abs().max().item<double>();
      EXPECT_LE(max_difference(made.second[row], expected.second[row]),
                1e-14 * size)
          << row << ", " << width;
    }
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

// A warp adds up in another order than the CPU: by the rounding of float32
// (6e-8) in a few of its sums.
TEST(UnitRows, OnAGpuAreThoseOfLibTorchInDouble) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const int64_t width : {1, 3, 33, 512, 1280, 2048}) {
    for (const auto type : {at::kFloat, at::kDouble}) {
      const Tensor x = hostile_rows(41, width, type);
      const Tensor outer = random_normal({41, width}, 2).to(type);
      const auto expected =
          unit_and_gradient(x.to(at::kDouble), outer.to(at::kDouble));
      ASSERT_TRUE(can_unit_rows(x.to(at::kCUDA)));
      const auto made = unit_and_gradient(x.to(at::kCUDA), outer);
      const double rounding = type == at::kFloat ? 5e-7 : 1e-15;
      for (int64_t row = 0; row < 41; ++row) {
        if (row == 4 && type == at::kFloat) continue;  // no zeros in double
        EXPECT_LE(max_difference(made.first[row].cpu().to(at::kDouble),
                                 expected.first[row]),
                  rounding)
            << row << ", " << width;
        const double size =
            outer[row].norm().item<double>() /
            std::max(x[row].to(at::kDouble).norm().item<double>(),
                     row == 3 || row == 4 ? 1.0 : 0.0);
        EXPECT_LE(max_difference(made.second[row].cpu().to(at::kDouble),
                                 expected.second[row]),
                  rounding * size)
            << row << ", " << width;
      }
      EXPECT_TRUE(same_bits(unit_and_gradient(x.to(at::kCUDA), outer).second,
                            made.second));
    }
  }
}

}  // namespace
}  // namespace kith
