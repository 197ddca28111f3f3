#include "kith/losses/angular_all.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// The formula, pair by pair.
Tensor formula(const Tensor& e, const Tensor& labels) {
  const double t = std::pow(std::tan(40 * M_PI / 180), 2);
  const Tensor x = normalize_rows(e);
  std::vector<Tensor> terms;
  for (int64_t a = 0; a < e.size(0); ++a) {
    const Tensor negatives =
        e.index_select(0, (labels != labels[a]).nonzero().flatten());
    for (int64_t p = 0; p < e.size(0); ++p) {
      if (a == p || !labels[a].equal(labels[p])) continue;
      const Tensor f = 4 * t * torch::mv(negatives, x[a] + x[p]) -
                       2 * (1 + t) * x[a].dot(x[p]);
      terms.push_back(f.exp().sum().log1p());
    }
  }
  return terms.empty() ? e.sum() * 0 : torch::stack(terms).mean();
}

TEST(AngularAllLoss, IsItsFormulaOnVectorsOfAnyLength) {
  const AngularAll loss;
  EXPECT_FALSE(loss.wants_unit());
  for (const LabelledBatch& batch : random_batches()) {
    SCOPED_TRACE(batch.name);
    LossInput input = batch.input();
    input.embeddings =
        batch.x * (1 + torch::arange(batch.size()).remainder(3)).unsqueeze(1);
    const LossGradient expected = differentiate_function(
        [&](const Tensor& e) { return formula(e, batch.labels); },
        input.embeddings);
    expect_same(differentiate(loss, input), expected, 1e-10, 1e-9);
  }
}

/// The normalised anchor and positive have x_a.x_p = 1, and the negative, which
/// keeps its length, has an inner product of 2 and 2 with them.
TEST(AngularAllLoss, OfThreeExamples) {
  LossInput input;
  input.embeddings =
      torch::tensor({{5.0, 0.0}, {7.0, 0.0}, {2.0, 1.0}}, torch::kDouble);
  input.labels = labels_of({4, 4, 9});
  const AngularAll loss({.alpha = 45});
  const LossOutput output = loss(input);
  EXPECT_NEAR(output.value.item<double>(),
              std::log1p(std::exp(4.0 * 4 - 4.0 * 1)), 1e-12);
  EXPECT_EQ(output.stats[0].second, 2);  // ordered pairs
}

/// More pairs than examples are taken in chunks.
TEST(AngularAllLoss, DoesNotOverflow) {
  const LabelledBatch batch = make_batch({8, 7}, 4, 1);
  LossInput input = batch.input(at::kFloat);
  input.embeddings = input.embeddings * 1000;
  const LossGradient result = differentiate(AngularAll(), input);
  EXPECT_TRUE(std::isfinite(result.value));
  EXPECT_GT(result.value, 100);
  EXPECT_TRUE(torch::isfinite(result.gradient).all().item<bool>());
}

}  // namespace
}  // namespace kith
