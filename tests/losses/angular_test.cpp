#include "kith/losses/angular.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

double value_of(const AngularOptions& options, const LossInput& input) {
  return Angular(options)(input).value.item<double>();
}

/// Two examples of a class on the first axis, and a negative on the second:
/// e_a.e_p = 6, x_a.x_p = 1, and both are orthogonal to the negative.
LossInput three() {
  LossInput input;
  input.embeddings =
      torch::tensor({{2.0, 0.0}, {3.0, 0.0}, {0.0, 5.0}}, torch::kDouble);
  input.labels = labels_of({4, 4, 9});
  return input;
}

TEST(AngularLoss, OfThreeExamples) {
  const double npair = std::log1p(std::exp(-6.0));
  const double angular = std::log1p(std::exp(-4.0));  // tan 45 = 1
  const double squares = (4.0 + 9.0 + 25.0) / 3;
  EXPECT_NEAR(value_of({}, three()), npair + 2 * angular + 0.005 * squares,
              1e-12);
  EXPECT_NEAR(value_of({.lambda = 1, .penalty = "norm"}, three()),
              npair + angular + 0.005 * 10 / 3, 1e-12);
  const double steep = std::pow(std::tan(60 * M_PI / 180), 2);  // 3
  EXPECT_NEAR(value_of({.alpha = 60, .l2 = 0}, three()),
              npair + 2 * std::log1p(std::exp(-2 * (1 + steep))), 1e-12);
}

TEST(AngularLoss, TuplesSayWhichPairsCount) {
  LossInput input = three();
  input.embeddings = random_normal({6, 4}, 1);
  input.labels = labels_of({1, 1, 1, 2, 2, 3});
  const double without = value_of({}, input);
  // The next of the class, the first after the last.
  input.tuples =
      torch::tensor({{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 3}}, torch::kLong);
  EXPECT_NEAR(value_of({}, input), without, 1e-12);
  input.tuples = torch::cat({input.tuples, torch::full({5, 1}, 5)}, 1);
  EXPECT_NEAR(value_of({}, input), without, 1e-12);
  input.tuples = torch::tensor({{0, 2}}, torch::kLong);
  EXPECT_GT(std::abs(value_of({}, input) - without), 1e-3);
}

TEST(AngularLoss, RefusesPairsOfTwoLabels) {
  LossInput input = three();
  input.tuples = torch::tensor({{0, 1}, {0, 2}}, torch::kLong);
  expect_error<c10::ValueError>([&] { value_of({}, input); }, "angular needs",
                                "the same label");
}

/// Exponents that overflow: the mean is as large as they are, and not more.
TEST(AngularLoss, DoesNotOverflow) {
  LossInput input = three();
  input.embeddings = torch::tensor({{100.f, 0.f}, {-100.f, 0.f}, {100.f, 1.f}});
  const LossGradient result = differentiate(Angular({.alpha = 89}), input);
  EXPECT_TRUE(std::isfinite(result.value));
  EXPECT_GT(result.value, 1e4);
  EXPECT_TRUE(torch::isfinite(result.gradient).all().item<bool>());
}

}  // namespace
}  // namespace kith
