#include "kith/losses/margin.h"

#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

// Four points on a line:    0 --- 0.5 ---- 1.25 --------- 3
//                         class 0   0      class 1        1
// With beta 1 and margin 0.25 positives cost D - 0.75, negatives 1.25 - D:
// (1, 0, 2) has 0 and 0.5, (2, 3, 1) has 1 and 0.5.
LossInput two_triplets(at::ScalarType type = at::kDouble) {
  LossInput input;
  input.embeddings = torch::tensor({0., 0.5, 1.25, 3.}, type).view({4, 1});
  input.labels = labels_of({0, 0, 1, 1});
  input.tuples = labels_of({1, 0, 2, 2, 3, 1}).view({2, 3});
  return input;
}

Margin margin(MarginOptions options, const LossContext& context = {}) {
  options.margin = 0.25;
  options.beta = 1;
  return Margin(options, context);
}

LossContext given(const Tensor& beta) {
  LossContext context;
  context.given = {{"beta", beta}};
  return context;
}

Tensor beta_of(const Loss& loss) { return loss.parameters().at(0); }

TEST(MarginLoss, CountsActivePairs) {
  const Margin loss = margin({});
  const LossGradient result = differentiate(loss, two_triplets());
  EXPECT_DOUBLE_EQ(result.value, 2.0 / 3);
  // (1, 2) is pushed by both triplets, (2, 3) pulled by one.
  EXPECT_LE(
      max_difference(result.gradient.flatten() * 3,
                     torch::tensor({0., 2., -2. - 1., 1.}, torch::kDouble)),
      1e-15);
  EXPECT_NEAR(beta_of(loss).grad().item<double>(), (2 - 1) / 3.0, 1e-7);
}

TEST(MarginLoss, CanCountActiveTriplets) {
  EXPECT_DOUBLE_EQ(
      differentiate(margin({.count = "triplets"}), two_triplets()).value, 1);
}

TEST(MarginLoss, BetaOfEachClassIsThatOfTheAnchor) {
  LossContext context;
  context.classes = 5;
  const Margin loss = margin({.beta_per_class = true, .nu = 0.5}, context);
  EXPECT_EQ(loss.classes(), 5);
  // The regulariser: 0.5 * (beta_0 + beta_1) / 3.
  const LossGradient result = differentiate(loss, two_triplets());
  EXPECT_DOUBLE_EQ(result.value, (2 + 0.5 * 2) / 3);
  const Tensor expected =
      torch::tensor({1. + 0.5, 1. - 1. + 0.5, 0., 0., 0.}, torch::kDouble) / 3;
  EXPECT_LE(max_difference(beta_of(loss).grad(), expected), 1e-7);
}

TEST(MarginLoss, OneBetaIsItsOwnRegulariser) {
  EXPECT_DOUBLE_EQ(differentiate(margin({.nu = 0.5}), two_triplets()).value,
                   2.0 / 3 + 0.5);
  LossInput none = two_triplets();
  none.tuples = none.tuples.slice(0, 0, 0);
  const LossGradient result = differentiate(margin({.nu = 0.5}), none);
  EXPECT_EQ(result.value, 0);
  EXPECT_TRUE(result.connected);
}

TEST(MarginLoss, DescribesItsParameter) {
  const Margin loss = margin({.lr = 0.01});
  ASSERT_EQ(loss.parameters().size(), 1u);
  EXPECT_EQ(loss.named_parameters()[0].key(), "beta");
  EXPECT_EQ(beta_of(loss).scalar_type(), at::kFloat);
  EXPECT_EQ(beta_of(loss).sizes(), std::vector<int64_t>{1});
  EXPECT_TRUE(beta_of(loss).requires_grad());
  EXPECT_EQ(loss.parameter_lr("beta"), 0.01);
  EXPECT_EQ(loss.classes(), 0);
  EXPECT_EQ(margin({}).parameter_lr("beta"), 5e-4);
}

TEST(MarginLoss, AConstantIsNoParameter) {
  const Margin loss = margin({.learn = false});
  EXPECT_TRUE(loss.parameters().empty());
  EXPECT_DOUBLE_EQ(differentiate(loss, two_triplets()).value, 2.0 / 3);
  const Margin own =
      margin({.learn = false}, given(torch::tensor({1., 9.}, torch::kDouble)));
  EXPECT_TRUE(own.parameters().empty());
  EXPECT_EQ(own.classes(), 2);
}

TEST(MarginLoss, TakesGivenValues) {
  const Tensor number = torch::tensor(1.0, torch::kDouble);
  for (const Tensor& one : {number, number.view({1})}) {
    const Margin loss = margin({}, given(one));
    EXPECT_EQ(beta_of(loss).scalar_type(), at::kDouble);
    EXPECT_EQ(beta_of(loss).sizes(), std::vector<int64_t>{1});
    EXPECT_EQ(loss.classes(), 0);
    EXPECT_DOUBLE_EQ(differentiate(loss, two_triplets()).value, 2.0 / 3);
  }
  const Margin loss =
      margin({}, given(torch::tensor({1., 9.}, torch::kDouble)));
  EXPECT_EQ(loss.classes(), 2);
  // The second triplet: 1.75 - 9 + 0.25 and 9 - 0.75 + 0.25.
  EXPECT_DOUBLE_EQ(differentiate(loss, two_triplets()).value, (0.5 + 8.5) / 2);
  expect_error<c10::ValueError>(
      [&] {
        margin({}, given(torch::ones({2, 2})));
      },
      "beta must be");
}

TEST(MarginLoss, SinglePrecisionHasTheTypeOfTheEmbeddings) {
  const Margin loss = margin({}, given(torch::ones({2}, torch::kDouble)));
  const LossInput input = two_triplets(at::kFloat);
  EXPECT_EQ(loss(input).value.scalar_type(), at::kFloat);
  EXPECT_NEAR(differentiate(loss, input).value, 2.0 / 3, 1e-6);
}

TEST(MarginLoss, RefusesOptionsThatContradict) {
  expect_error<ConfigError>([] { margin({.beta_per_class = true}); },
                            "'margin.beta_per_class'", "number of classes");
  expect_error<ConfigError>([] { margin({.learn = false, .nu = 1}); },
                            "'margin.nu'", "'margin.learn'");
  expect_error<ConfigError>(
      [] { margin({.beta_per_class = true, .learn = false}); },
      "'margin.beta_per_class'", "'margin.learn'");
}

}  // namespace
}  // namespace kith
