// SiMix: virtual examples are mixtures of two examples of a class, and act as
// if they were in the batch.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/losses/row_loss.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/reference_losses.h"

namespace kith {
namespace {

std::vector<std::string> mixing_losses() {
  std::vector<std::string> names;
  for (const std::string& name : loss_registry().names()) {
    const auto loss =
        make_loss_for("{name: " + name + "}", torch::empty({1, 4}),
                      /*classes=*/2);
    if (loss->takes_mixed()) names.push_back(name);
  }
  return names;
}

class SimixLoss : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Loss> make(const std::string& options = "") {
    return make_loss("{name: " + GetParam() + options + "}");
  }

  static void expect_formula(const LabelledBatch& batch,
                             const MixedPairs& mixed) {
    SCOPED_TRACE(batch.name);
    const LossGradient expected = differentiate_function(
        [&](const Tensor& x) {
          return reference_loss(GetParam(), x, batch.labels, mixed);
        },
        batch.x);
    LossInput input = batch.input();
    input.mixed = mixed;
    for (const int64_t block : {int64_t{3}, batch.size()}) {
      SCOPED_TRACE(block);
      const auto loss = make(", block: " + std::to_string(block));
      expect_same(differentiate(*loss, input), expected, 1e-10, 1e-9);
    }
  }
};

TEST_P(SimixLoss, IsTheFormulaOnMixedSimilarities) {
  for (const LabelledBatch& batch :
       {make_batch({4, 1, 3, 5, 2}, 6, 1), make_batch({1, 2, 1}, 3, 2),
        make_batch({5}, 4, 3), make_batch({3, 3, 3}, 9, 4)}) {
    expect_formula(batch, all_pairs(batch, 7));
  }
}

TEST_P(SimixLoss, TakesAnyPairsInAnyOrder) {
  const LabelledBatch batch = make_batch({4, 1, 3, 5, 2}, 6, 5);
  MixedPairs mixed = all_pairs(batch, 8);
  // Every other pair, backwards, the two of it exchanged, and one twice.
  const Tensor some = torch::cat({torch::arange(18, -1, -3), labels_of({6})});
  mixed.pairs = mixed.pairs.index_select(0, some).flip(1);
  mixed.alphas = mixed.alphas.index_select(0, some);
  expect_formula(batch, mixed);
}

TEST_P(SimixLoss, WithoutPairsIsThePlainLoss) {
  const LabelledBatch batch = make_batch({1, 1, 1, 1, 1}, 6, 6);
  expect_formula(batch, all_pairs(batch, 9));
}

/// The same loss on a batch that holds the virtual vectors. Losses of distances
/// are no such function: the vectors are not unit, and D^2 is 2 - 2 s.
TEST_P(SimixLoss, IsTheLossOfTheLongerBatch) {
  for (const char* name : {"contrastive", "contrastive_all", "lifted",
                           "lifted_structure", "triplet_all"}) {
    if (GetParam() == name) GTEST_SKIP() << "a loss of distances";
  }
  const LabelledBatch batch = make_batch({7, 1, 5, 8, 2, 6, 1, 9, 3}, 12, 7);
  const auto loss =
      make(GetParam() == "recall_at_k" ? ", k: [1, 2, 4, 8]" : "");
  LossInput input = batch.input();
  input.mixed = all_pairs(batch, 10);
  const LossGradient expected = differentiate_function(
      [&](const Tensor& x) {
        LossInput longer;
        longer.embeddings = with_virtual(x, input.mixed);
        longer.labels = labels_with_virtual(batch.labels, input.mixed);
        return (*loss)(longer).value;
      },
      batch.x);
  expect_same(differentiate(*loss, input), expected, 1e-12, 1e-11);
  input.embeddings = input.embeddings.to(at::kFloat);
  expect_same(differentiate(*loss, input), expected, 1e-5, 1e-4);
}

TEST_P(SimixLoss, DrawsAllPairsWithAlphasOfTheSeed) {
  const LabelledBatch batch = make_batch({4, 1, 3, 5}, 6, 8);
  const auto loss = make(", simix: true");
  LossInput input = batch.input();
  input.seed = 5;
  const LossGradient drawn = differentiate(*loss, input);
  EXPECT_EQ(differentiate(*loss, input).value, drawn.value);
  input.mixed = random_pairs(batch.labels, 5, 100);
  EXPECT_EQ(differentiate(*loss, input).value, drawn.value);
  EXPECT_EQ(differentiate(*make(), input).value, drawn.value);
  input.mixed = {};
  input.seed = 6;
  EXPECT_NE(differentiate(*loss, input).value, drawn.value);
}

TEST_P(SimixLoss, LimitIsAnOption) {
  const LabelledBatch batch = make_batch({4, 1, 3}, 6, 9);  // 6 + 3 pairs
  (*make(", simix: true, simix_limit: 9"))(batch.input());
  expect_error<c10::ValueError>(
      [&] { (*make(", simix: true, simix_limit: 8"))(batch.input()); },
      "simix_limit (8)");
}

INSTANTIATE_TEST_SUITE_P(Losses, SimixLoss,
                         ::testing::ValuesIn(mixing_losses()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

}  // namespace
}  // namespace kith
