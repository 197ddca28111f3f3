#include "kith/losses/margin_all.h"

#include <limits>

#include <torch/torch.h>

#include "kith/ops/gram.h"
#include "kith/ops/known_gradient.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

/// Value and derivatives without beta's regulariser, which needs the rest.
struct MarginSums {
  Tensor value;
  Tensor dx;        ///< [M, D]
  Tensor dbeta;     ///< [M] by the beta of each anchor.
  Tensor triplets;  ///< [M] of each anchor.
  Tensor divisor;   ///< Pairs with a term above zero, counted by triplets.
};

/// A positive pair is in as many triplets as its anchor has negatives, and a
/// negative one in as many as it has positives: sums over triplets are sums
/// over pairs with these numbers as weights.
MarginSums margin_sums(const Tensor& x, const Tensor& labels,
                       const Tensor& beta, double margin) {
  const at::NoGradGuard no_grad;
  Tensor distance = squared_distances(x).sqrt_();  // [M, M]
  const Tensor same = labels.unsqueeze(1) == labels;
  const Tensor class_size = same.sum(1, /*keepdim=*/true).to(x.scalar_type());
  const Tensor negatives = static_cast<double>(x.size(0)) - class_size;
  const Tensor positives = class_size - 1;
  Tensor terms = distance - beta.unsqueeze(1);
  terms = torch::where(same, terms, terms.neg()).add_(margin).relu_();
  terms.fill_diagonal_(0);
  // Derivatives of the sum by the distances; their amounts are the weights of
  // the terms above zero.
  Tensor slope = torch::where(same, negatives, -positives);
  slope.masked_fill_(terms == 0, 0);
  MarginSums sums;
  sums.divisor = slope.norm(1);  // of the amounts, without a matrix of them
  const Tensor divisor = sums.divisor.clamp_min(1);
  sums.value = terms.mul_(slope).norm(1) / divisor;
  terms.reset();
  sums.triplets = (negatives * positives).squeeze(1);
  sums.dbeta = slope.sum(1) / -divisor;
  // d(D)/d(D^2) = 1 / (2 D), and 0 where D is.
  distance.masked_fill_(distance == 0, std::numeric_limits<double>::infinity());
  slope.div_(distance.mul_(divisor * 2));
  distance.reset();
  sums.dx = squared_distances_gradient(x, slope);
  return sums;
}

}  // namespace

const char* const MarginAll::kSummary = "margin over all triplets of the batch";

const PartFacts MarginAll::kFacts = {
    .formula =
        "l(a,p) = [D_ap - beta + margin]+\n"
        "l(a,n) = [beta - D_an + margin]+\n"
        "loss = sum over triplets of l(a,p) + l(a,n) / number of terms above "
        "zero\n"
        "     + nu beta (per class: nu sum over triplets of beta_a, divided "
        "likewise)",
    .source =
        "Wu et al., ICCV 2017; all triplets as in pytorch-metric-learning",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "pml_margin, pml_margin_learn_beta"};

void MarginAllOptions::describe(OptionSet& set) { describe_margin(set, *this); }

MarginAll::MarginAll(Options options, const LossContext& context)
    : LossWithBeta(beta_start(options, "margin_all"), context),
      options_(options) {}

LossOutput MarginAll::forward(const LossInput& input) const {
  const Tensor& x = input.embeddings;
  const Tensor beta = beta_.of(input.labels, x);  // [M] or [1]
  const MarginSums sums =
      margin_sums(x.detach(), input.labels, beta.detach(), options_.margin);
  const Tensor dbeta =
      beta_.classes() == 0 ? sums.dbeta.sum(0, true) : sums.dbeta;
  Tensor value = known_gradient(sums.value, {x, beta}, {sums.dx, dbeta});
  if (beta_.has_penalty()) {
    value = value + beta_.penalty(beta, sums.triplets, sums.divisor);
  }
  return {keep_bad_visible(value, x), {}};
}

KITH_REGISTER(loss_registry(), "margin_all", MarginAll);

}  // namespace kith
