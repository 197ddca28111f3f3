#include "kith/losses/snr_contrastive.h"

#include <utility>

#include <torch/torch.h>

#include "kith/ops/gram.h"
#include "kith/ops/known_gradient.h"
#include "kith/ops/snr.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

/// The value, and its gradient with respect to the centred vectors.
std::pair<Tensor, Tensor> snr_by_centred(const SnrRows& rows,
                                         const Tensor& labels,
                                         const SnrContrastiveOptions& options) {
  const at::NoGradGuard no_grad;
  const Tensor c = rows.centred.detach();
  const Tensor inverse = rows.inverse.detach().unsqueeze(1);  // [M, 1]
  const Tensor snr = squared_distances(c).mul_(inverse);      // [M, M]
  const Tensor same = labels.unsqueeze(1) == labels;
  Tensor terms =
      torch::where(same, snr - options.pos_margin, options.neg_margin - snr)
          .relu_();
  terms.masked_fill_(rows.flat.unsqueeze(1), 0).fill_diagonal_(0);
  const Tensor active = terms > 0;
  const Tensor positives = active.logical_and(same).sum();
  const Tensor negatives = active.sum() - positives;
  const auto part = [&](const Tensor& count) {
    return count.clamp_min(1).to(c.scalar_type()).reciprocal();
  };
  // dL/dsnr; its amounts are the weights of the terms above zero.
  Tensor slope = torch::where(same, part(positives), -part(negatives));
  slope.masked_fill_(terms == 0, 0);
  const Tensor value = terms.mul_(slope).norm(1);
  // snr_ij = |c_i - c_j|^2 / |c_i|^2, by the numerator and the denominator.
  const Tensor by_power =
      (slope * snr).sum(1, /*keepdim=*/true).mul_(inverse).neg_();
  const Tensor gradient = squared_distances_gradient(c, slope.mul_(inverse))
                              .addcmul_(by_power, c, 2);
  return {value, gradient};
}

}  // namespace

const char* const SnrContrastive::kSummary =
    "contrastive on signal-to-noise ratios over all pairs of the batch";

const PartFacts SnrContrastive::kFacts = {
    .formula =
        "snr_ij = var(x_i - x_j) / var(x_i), over the coordinates\n"
        "loss = mean [snr_ij - pos_margin]+ over positives\n"
        "     + mean [neg_margin - snr_ij]+ over negatives,\n"
        "each mean over its terms above zero",
    .source = "Yuan et al., CVPR 2019; all pairs as in pytorch-metric-learning",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "pml_snr_contrastive"};

void SnrContrastiveOptions::describe(OptionSet& set) {
  set.add("pos_margin", pos_margin,
          "Positive pairs with a smaller ratio cost nothing.")
      .range(0);
  set.add("neg_margin", neg_margin,
          "Negative pairs with a larger ratio cost nothing.")
      .range(0);
}

SnrContrastive::SnrContrastive(Options options)
    : options_(checked(options, "snr_contrastive")) {}

LossOutput SnrContrastive::forward(const LossInput& input) const {
  const SnrRows rows = snr_rows(input.embeddings);
  const auto [value, gradient] = snr_by_centred(rows, input.labels, options_);
  return {keep_bad_visible(known_gradient(value, {rows.centred}, {gradient}),
                           input.embeddings),
          {}};
}

KITH_REGISTER(loss_registry(), "snr_contrastive", SnrContrastive);

}  // namespace kith
