#include "kith/losses/contrastive.h"

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
//                         class A   A      class B        B
// Positive distances: 0.5 and 1.75. Negative ones: 1.25, 3, 0.75 and 2.5, so
// with the default margin of 1 only 0.75 is active, with a term of 0.25.
class ContrastiveLoss : public ::testing::Test {
 protected:
  LossGradient run(const ContrastiveOptions& options = {},
                   const std::vector<int64_t>& tuples = {},
                   int64_t width = 3) const {
    LossInput input;
    input.embeddings =
        torch::tensor({0., 0.5, 1.25, 3.}, torch::kDouble).view({4, 1});
    input.labels = labels_of({0, 0, 1, 1});
    if (!tuples.empty()) input.tuples = labels_of(tuples).view({-1, width});
    return differentiate(Contrastive(options), input);
  }

  static std::vector<double> list(const Tensor& gradient) {
    const Tensor flat = gradient.flatten();
    return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
  }
};

TEST_F(ContrastiveLoss, AllPairsAverageTheActiveOnes) {
  const LossGradient result = run();
  EXPECT_DOUBLE_EQ(result.value, (0.5 + 1.75) / 2 + 0.25);
  // Each positive pair pulls with 1/2 (two of four ordered pairs name a point),
  // the one active negative pair pushes with 1.
  EXPECT_EQ(list(result.gradient),
            (std::vector<double>{-0.5, 0.5 + 1, -0.5 - 1, 0.5}));
}

TEST_F(ContrastiveLoss, AllPairsCanAverageOverAll) {
  EXPECT_DOUBLE_EQ(run({.reduction = "all"}).value, 1.125 + 0.25 / 4);
  EXPECT_DOUBLE_EQ(run({.reduction = "active"}).value, run().value);
}

TEST_F(ContrastiveLoss, Margins) {
  EXPECT_DOUBLE_EQ(run({.pos_margin = 1}).value, 0.75 + 0.25);
  EXPECT_DOUBLE_EQ(run({.neg_margin = 2}).value, 1.125 + (0.75 + 1.25) / 2);
  EXPECT_DOUBLE_EQ(run({.neg_margin = 0}).value, 1.125);
}

TEST_F(ContrastiveLoss, TripletsAverageOverAll) {
  const std::vector<int64_t> triplets = {0, 1, 2, 1, 0, 2};
  const LossGradient result = run({}, triplets);
  EXPECT_DOUBLE_EQ(result.value, 0.5 + 0.25 / 2);
  EXPECT_EQ(list(result.gradient), (std::vector<double>{-1, 1 + 0.5, -0.5, 0}));
  EXPECT_DOUBLE_EQ(run({.reduction = "active"}, triplets).value, 0.5 + 0.25);
}

TEST_F(ContrastiveLoss, PairsTakeTheirSignFromTheLabels) {
  const std::vector<int64_t> pairs = {3, 2, 1, 2, 0, 3};
  EXPECT_DOUBLE_EQ(run({}, pairs, 2).value, 1.75 + 0.25 / 2);
  EXPECT_DOUBLE_EQ(run({.reduction = "active"}, pairs, 2).value, 1.75 + 0.25);
}

TEST_F(ContrastiveLoss, NoTuplesGiveZero) {
  LossInput input;
  input.embeddings = random_normal({4, 2}, 1);
  input.labels = labels_of({0, 0, 1, 1});
  input.tuples = torch::empty({0, 3}, torch::kLong);
  const LossGradient result = differentiate(Contrastive(), input);
  EXPECT_EQ(result.value, 0);
  EXPECT_TRUE(result.connected);
}

TEST_F(ContrastiveLoss, RefusesAnUnknownReduction) {
  expect_error<ConfigError>([&] { run({.reduction = "activ"}); },
                            "contrastive.reduction", "did you mean 'active'?");
}

TEST_F(ContrastiveLoss, RefusesVirtualExamplesWithTuples) {
  expect_error<c10::ValueError>(
      [&] {
        run({.rows = {.simix = true}}, {0, 1, 2});
      },
      "not with tuples");
}

TEST_F(ContrastiveLoss, TakesADatabase) {
  const Tensor x = random_normal({6, 3}, 2);
  const Tensor labels = labels_of({0, 1, 0, 2, 1, 2});
  const Contrastive loss;
  LossInput input{.embeddings = x, .labels = labels, .tuples = {}};
  const double value = loss(input).value.item<double>();
  input.database = {x, labels, torch::arange(6)};
  EXPECT_NEAR(loss(input).value.item<double>(), value, 1e-12);
}

/// Its name before both were one loss. It had no miner and keeps its keys.
TEST_F(ContrastiveLoss, HasAnOldName) {
  EXPECT_STREQ(loss_registry().at("contrastive_all", "").traits.miner, "");
  EXPECT_STREQ(loss_registry().at("contrastive", "").traits.miner,
               "distance_weighted");
  LossInput input;
  input.embeddings = random_normal({8, 3}, 1);
  input.labels = labels_of({0, 0, 1, 1, 2, 2, 2, 0});
  for (const std::string reduction : {"active", "all"}) {
    const auto old = make_loss("{name: contrastive_all, pos_margin: 0.1, " +
                               ("reduction: " + reduction) + "}");
    const LossGradient expected = differentiate(
        Contrastive({.pos_margin = 0.1, .reduction = reduction}), input);
    const LossGradient actual = differentiate(*old, input);
    EXPECT_EQ(actual.value, expected.value);
    EXPECT_TRUE(same_bits(actual.gradient, expected.gradient));
    EXPECT_TRUE(old->tuple_widths().empty());
  }
}

}  // namespace
}  // namespace kith
