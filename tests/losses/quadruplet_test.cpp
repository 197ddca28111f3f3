#include "kith/losses/quadruplet.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

// Points on a line:    0 -- 0.5 -- 1.25 ---- 3 ------- 6 --- 7
//                    class A  A      B       C         D     C
LossInput line(const std::vector<int64_t>& tuples, int64_t width) {
  LossInput input;
  input.embeddings =
      torch::tensor({0., 0.5, 1.25, 3., 6., 7.}, torch::kDouble).view({6, 1});
  input.labels = labels_of({8, 8, 2, -5, 7, -5});
  input.tuples = labels_of(tuples).view({-1, width});
  return input;
}

LossGradient run_quadruplet(const QuadrupletOptions& options,
                            const LossInput& input) {
  return differentiate(Quadruplet(options), input);
}

TEST(QuadrupletLoss, AddsTwoHinges) {
  // 0.5 - 1.25 + 1, and 0.5 - 1.75 + 0.5 which is below zero.
  EXPECT_DOUBLE_EQ(run_quadruplet({}, line({0, 1, 2, 3}, 4)).value, 0.25);
  const LossGradient result =
      run_quadruplet({.margin2 = 2}, line({0, 1, 2, 3}, 4));
  EXPECT_DOUBLE_EQ(result.value, 0.25 + 0.75);
  // Of D_ap twice, -D_an and -D_nl.
  EXPECT_EQ(max_difference(result.gradient.flatten(),
                           torch::tensor({-2. + 1., 2., -1. + 1., -1., 0., 0.},
                                         torch::kDouble)),
            0);
}

TEST(QuadrupletLoss, ReducesOverTuples) {
  const LossInput input = line({0, 1, 2, 3, 0, 1, 4, 3}, 4);
  EXPECT_DOUBLE_EQ(run_quadruplet({}, input).value, 0.25 / 2);
  EXPECT_DOUBLE_EQ(run_quadruplet({.reduction = "active"}, input).value, 0.25);
}

/// How often each example is the second negative of the triplet, from the
/// gradient: with a large margin each adds -1 / T to its own coordinate.
std::vector<int64_t> draws(LossInput input, uint64_t seed, int64_t count) {
  input.tuples = input.tuples.repeat({count, 1});
  input.seed = seed;
  const LossGradient result =
      run_quadruplet({.margin1 = -100, .margin2 = 100}, input);
  std::vector<int64_t> counts;
  for (int64_t i = 3; i < 6; ++i) {
    counts.push_back(std::llround(-result.gradient[i][0].item<double>() *
                                  static_cast<double>(count)));
  }
  return counts;
}

TEST(QuadrupletLoss, DrawsAThirdClassUniformly) {
  constexpr int64_t kCount = 3000;
  const LossInput input = line({0, 1, 2}, 3);
  const std::vector<int64_t> counts = draws(input, 1, kCount);
  EXPECT_EQ(counts[0] + counts[1] + counts[2], kCount);
  for (const int64_t count : counts) EXPECT_NEAR(count, 1000, 130);  // 5 sigma
  EXPECT_EQ(draws(input, 1, kCount), counts);
  EXPECT_NE(draws(input, 2, kCount), counts);
  LossInput renamed = input;
  renamed.labels = input.labels * -3;
  EXPECT_EQ(draws(renamed, 1, kCount), counts);
}

/// Each draw is the only example of a third class.
TEST(QuadrupletLoss, StepsOverBothClasses) {
  for (const auto& labels :
       {labels_of({0, 0, 1, 2, 1, 1}), labels_of({1, 1, 0, 2, 0, 1}),
        labels_of({4, 4, 3, 5, 3, 4}), labels_of({5, 5, 6, 1, 6, 6})}) {
    LossInput input = line({0, 1, 2}, 3);
    input.labels = labels;
    EXPECT_EQ(draws(input, 3, 50), (std::vector<int64_t>{50, 0, 0})) << labels;
  }
  // A negative of the anchor's own class is left out once.
  LossInput input = line({0, 1, 2}, 3);
  input.labels = labels_of({0, 0, 0, 0, 0, 9});
  EXPECT_EQ(draws(input, 3, 50), (std::vector<int64_t>{0, 0, 50}));
}

TEST(QuadrupletLoss, WithoutAThirdClassHasTheFirstTerm) {
  for (const auto& labels :
       {labels_of({0, 0, 1, 1, 1, 0}), labels_of({0, 0, 0, 0, 0, 0})}) {
    LossInput input = line({0, 1, 2}, 3);
    input.labels = labels;
    EXPECT_DOUBLE_EQ(run_quadruplet({.margin2 = 100}, input).value, 0.25);
  }
}

}  // namespace
}  // namespace kith
