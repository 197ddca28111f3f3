#include "kith/losses/loss.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

class LossCall : public ::testing::Test {
 protected:
  LossCall() {
    input_.embeddings = random_normal({4, 2}, 1, at::kFloat);
    input_.labels = labels_of({0, 0, 1, 1});
  }

  template <typename... Parts>
  void expect_refused(const std::string& loss, const Parts&... parts) const {
    expect_error<c10::ValueError>(
        [&] { (*make_loss("{name: " + loss + "}"))(input_); }, parts...);
  }

  LossInput input_;
};

TEST_F(LossCall, ChecksEmbeddings) {
  input_.embeddings = torch::zeros({4});
  expect_refused("contrastive", "embeddings", "[M, D]", "[4]");
  input_.embeddings = torch::zeros({4, 2}, torch::kLong);
  expect_refused("contrastive", "embeddings", "float32 or float64", "Long");
}

TEST_F(LossCall, ChecksLabels) {
  input_.labels = labels_of({0, 0, 1});
  expect_refused("contrastive", "labels", "[4]", "[3]");
  input_.labels = torch::zeros({4});
  expect_refused("contrastive", "labels", "int64", "Float");
}

TEST_F(LossCall, ChecksTuples) {
  input_.tuples = torch::zeros({5, 4}, torch::kLong);
  expect_refused("contrastive", "tuples", "columns", "4");
  input_.tuples = torch::zeros({5, 3});
  expect_refused("contrastive", "tuples", "int64");
  input_.tuples = labels_of({0, 1, 4}).view({1, 3});
  expect_refused("contrastive", "positions 0 to 4", "batch of 4");
  input_.tuples = labels_of({-1, 1, 2}).view({1, 3});
  expect_refused("contrastive", "positions -1 to 2");
}

TEST_F(LossCall, RefusesTuplesForALossOfTheWholeBatch) {
  input_.tuples = labels_of({0, 1, 2}).view({1, 3});
  expect_refused("recall_at_k", "no tuples");
}

TEST_F(LossCall, ChecksPairsOfVirtualExamples) {
  const Tensor alpha = torch::full({1}, 0.5);
  const auto give = [&](const Tensor& pairs, const Tensor& alphas) {
    input_.mixed = {pairs, alphas};
  };
  const auto pair = [](int64_t i, int64_t j) {
    return labels_of({i, j}).view({1, 2});
  };
  give(pair(0, 1), alpha);
  (*make_loss("{name: recall_at_k}"))(input_);
  give(pair(0, 2), alpha);
  expect_refused("recall_at_k", "pair 0", "two classes");
  give(pair(1, 1), alpha);
  expect_refused("recall_at_k", "example with itself");
  give(pair(3, 4), alpha);
  expect_refused("recall_at_k", "positions 3 to 4", "batch of 4 has 0 to 3");
  give(pair(-1, 0), alpha);
  expect_refused("recall_at_k", "positions -1 to 0");
}

TEST_F(LossCall, ChecksShapesOfVirtualExamples) {
  const Tensor pair = labels_of({0, 1}).view({1, 2});
  input_.mixed = {labels_of({0, 1}), torch::full({1}, 0.5)};
  expect_refused("recall_at_k", "pairs", "int64 [V, 2]", "[2]");
  input_.mixed = {torch::zeros({1, 2}), torch::full({1}, 0.5)};
  expect_refused("recall_at_k", "pairs", "int64", "Float");
  input_.mixed = {pair, torch::full({2}, 0.5)};
  expect_refused("recall_at_k", "alphas", "[1]");
  input_.mixed = {pair, labels_of({1})};
  expect_refused("recall_at_k", "alphas", "floating point");
  input_.mixed = {pair, Tensor()};
  expect_refused("recall_at_k", "alphas");
}

TEST_F(LossCall, RefusesVirtualExamplesForALossThatTakesNone) {
  input_.mixed = {labels_of({0, 1}).view({1, 2}), torch::full({1}, 0.5)};
  expect_refused("triplet", "no virtual examples");
}

TEST_F(LossCall, NpairRefusesTuplesWithoutPositives) {
  input_.tuples = labels_of({0, 1, 1, 2}).view({2, 2});
  expect_refused("npair", "npair", "second column", "same label");
}

TEST(LossRegistry, NamesTheNearestLoss) {
  expect_error<ConfigError>([] { make_loss("{name: recal_at_k}"); },
                            "unknown loss 'recal_at_k'",
                            "did you mean 'recall_at_k'?");
}

}  // namespace
}  // namespace kith
