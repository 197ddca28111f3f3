#include "kith/losses/snr_contrastive.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

LossGradient run_snr_contrastive(const SnrContrastiveOptions& options,
                                 const LossInput& input) {
  return differentiate(SnrContrastive(options), input);
}

/// The formula with all differences in memory, by autograd.
LossGradient plain(const LossInput& input, double pos_margin,
                   double neg_margin) {
  const Tensor x = input.embeddings.clone().requires_grad_();
  const Tensor snr =
      (x.unsqueeze(1) - x.unsqueeze(0)).var(2) / x.var(1).unsqueeze(1);
  const auto mean = [](const Tensor& terms) {
    return terms.sum() / (terms > 0).sum().clamp_min(1);
  };
  const Tensor value =
      mean((snr - pos_margin)
               .relu()
               .masked_select(positive_mask(input.labels))) +
      mean(
          (neg_margin - snr).relu().masked_select(negative_mask(input.labels)));
  value.backward();
  return {value.item<double>(), x.grad(), true};
}

TEST(SnrContrastiveLoss, AgreesWithTheFormula) {
  for (const LabelledBatch& batch : random_batches()) {
    SCOPED_TRACE(batch.name);
    const LossInput input = batch.input();
    const LossGradient expected = plain(input, 0.3, 1.5);
    const LossGradient result =
        run_snr_contrastive({.pos_margin = 0.3, .neg_margin = 1.5}, input);
    EXPECT_NEAR(result.value, expected.value, 1e-11);
    EXPECT_LE(
        max_difference(result.gradient, expected.gradient),
        1e-11 * std::max(1.0, expected.gradient.abs().max().item<double>()));
  }
}

TEST(SnrContrastiveLoss, DuplicatesAreNotCounted) {
  LossInput input;
  // Variances up to a factor: 8, 8, 2; of the differences: 0, 2 and 2.
  input.embeddings =
      torch::tensor({3., -1., 3., -1., 1., -1.}, torch::kDouble).view({3, 2});
  input.labels = labels_of({0, 0, 0});
  // From 0 and 1 to 2: 1/4 each, from 2: 1 each.
  EXPECT_DOUBLE_EQ(run_snr_contrastive({}, input).value,
                   (0.25 + 0.25 + 1 + 1) / 4);
}

TEST(SnrContrastiveLoss, AnExampleWithoutVarianceIsNoAnchor) {
  LossInput input;
  input.embeddings =
      torch::tensor({3., -1., 0.3, 0.3, 1., -1.}, torch::kDouble).view({3, 2});
  input.labels = labels_of({0, 0, 1});
  // From 0: 8/8 to its positive, 2/8 to the negative; from 2: 2/2 and 2/2.
  const LossGradient result = run_snr_contrastive({}, input);
  EXPECT_NEAR(result.value, 1 + 0.75, 1e-12);
  EXPECT_TRUE(torch::isfinite(result.gradient).all().item<bool>());
}

}  // namespace
}  // namespace kith
