#include "kith/ops/pairwise.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

Tensor bools(const std::vector<int64_t>& values, int64_t columns) {
  return labels_of(values).view({-1, columns}).to(torch::kBool);
}

TEST(NormalizeRows, RowsHaveLengthOne) {
  const Tensor x =
      torch::tensor({3., 4., 0., -2.}, torch::kDouble).view({2, 2});
  const Tensor expected =
      torch::tensor({.6, .8, 0., -1.}, torch::kDouble).view({2, 2});
  EXPECT_LE(max_difference(normalize_rows(x), expected), 1e-15);
}

TEST(NormalizeRows, ARowOfZerosStaysZeroWithoutGradient) {
  const Tensor x = torch::tensor({0., 0., 3., 4.}, torch::kDouble)
                       .view({2, 2})
                       .requires_grad_();
  const Tensor unit = normalize_rows(x);
  EXPECT_TRUE((unit[0] == 0).all().item<bool>());
  unit.select(1, 0).sum().backward();
  EXPECT_TRUE(torch::isfinite(x.grad()).all().item<bool>()) << x.grad();
  // d(x0 / |x|) = (x1^2, -x0 x1) / |x|^3
  EXPECT_NEAR(x.grad()[1][0].item<double>(), 16. / 125, 1e-15);
  EXPECT_NEAR(x.grad()[1][1].item<double>(), -12. / 125, 1e-15);
}

TEST(NormalizeRows, IsTheSameAtAnyScale) {
  const Tensor x = random_normal({6, 5}, 1, at::kFloat);
  const Tensor outer = random_normal({6, 5}, 2, at::kFloat);
  const auto run = [&](const Tensor& rows) {
    const Tensor leaf = rows.detach().clone().requires_grad_();
    const Tensor unit = normalize_rows(leaf);
    unit.backward(outer);
    return std::pair(unit.detach(), leaf.grad());
  };
  const auto [unit, gradient] = run(x);
  // Powers of two round nothing, so that nothing may change.
  for (const double scale : {0x1p67, 0x1p-84, 0x1p120, 0x1p-110}) {
    const auto [scaled_unit, scaled_gradient] = run(x * scale);
    EXPECT_TRUE(same_bits(scaled_unit, unit)) << scale;
    EXPECT_TRUE(same_bits(scaled_gradient, gradient / scale)) << scale;
  }
  const Tensor wide = x.to(at::kDouble);
  EXPECT_TRUE(same_bits(normalize_rows(wide * 0x1p900), normalize_rows(wide)));
  EXPECT_LE(max_difference(unit, normalize_rows(wide)), 1e-6);
}

TEST(NormalizeRows, WhatIsNotFiniteSpoilsItsRowAlone) {
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

TEST(NormalizeRows, HalfPrecisionDoesNotOverflow) {
  const Tensor x = torch::full({2, 4}, 1e4, at::kHalf);
  EXPECT_TRUE(
      same_bits(normalize_rows(x), torch::full({2, 4}, 0.5, at::kHalf)));
}

TEST(NormPenalty, IsTheMeanLengthAtAnyScale) {
  for (const double scale : {1.0, 0x1p67, 0x1p-84}) {
    const Tensor x = (torch::tensor({3.F, 4.F, 0.F, 0.F}).view({2, 2}) *
                      static_cast<float>(scale))
                         .requires_grad_();
    const Tensor value = norm_penalty(x, 0.5, /*squared=*/false);
    EXPECT_NEAR(value.item<double>() / scale, 0.5 * 5 / 2, 1e-6);
    value.backward();
    EXPECT_LE(
        max_difference(x.grad(),
                       torch::tensor({0.15F, 0.2F, 0.F, 0.F}).view({2, 2})),
        1e-6);
  }
  EXPECT_EQ(norm_penalty(torch::ones({2, 4}), 0.5, true).item<double>(), 2);
  EXPECT_EQ(norm_penalty(torch::ones({0, 4}), 0.5, false).item<double>(), 0);
}

TEST(RowDistances, AreEuclidean) {
  const Tensor a = random_normal({7, 5}, 1);
  const Tensor b = random_normal({7, 5}, 2);
  EXPECT_LE(max_difference(row_distances(a, b), (a - b).norm(2, 1)), 1e-14);
}

TEST(RowDistances, GradientAtZeroIsZero) {
  const Tensor a = random_normal({3, 4}, 1).requires_grad_();
  row_distances(a, a.detach().clone()).sum().backward();
  EXPECT_TRUE((a.grad() == 0).all().item<bool>()) << a.grad();
}

TEST(AllDistances, EqualThoseOfEveryPairOfRows) {
  for (int64_t n : {1, 2, 40}) {
    const Tensor x = random_normal({n, 6}, 3);
    const Tensor all = all_distances(x);
    ASSERT_EQ(all.sizes(), (std::vector<int64_t>{n, n}));
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_LE(max_difference(all[i], (x - x[i]).norm(2, 1)), 1e-14);
    }
  }
}

TEST(AllDistances, NearDuplicatesKeepTheirDigits) {
  // Inner products of such vectors, in float32, lose this distance entirely.
  const Tensor x =
      torch::tensor({100.f, 50.f, 100.f, 50.0078125f}).view({2, 2});
  EXPECT_EQ(all_distances(x)[0][1].item<float>(), 0.0078125f);
}

TEST(AllDistances, GradientAtZeroIsZero) {
  const Tensor x = random_normal({1, 4}, 1).repeat({3, 1}).requires_grad_();
  all_distances(x).sum().backward();
  EXPECT_TRUE((x.grad() == 0).all().item<bool>()) << x.grad();
}

TEST(Masks, SplitAllPairsByLabel) {
  const Tensor labels = labels_of({5, -1, 5});
  EXPECT_TRUE(torch::equal(positive_mask(labels),
                           bools({0, 0, 1, 0, 0, 0, 1, 0, 0}, 3)));
  EXPECT_TRUE(torch::equal(negative_mask(labels),
                           bools({0, 1, 0, 1, 0, 1, 0, 1, 0}, 3)));
}

}  // namespace
}  // namespace kith
