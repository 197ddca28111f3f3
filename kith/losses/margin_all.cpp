#include <limits>

#include <torch/torch.h>

#include "kith/losses/margin_beta.h"
#include "kith/ops/gram.h"
#include "kith/ops/known_gradient.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

struct MarginAllOptions : MarginOptions {
  MarginAllOptions() { learn = false; }
};

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

/// Margin loss (Wu et al., ICCV 2017) over all triplets of the batch, as
/// pytorch-metric-learning computes it; `margin` takes mined tuples.
///
///     l(a,p) = [D_ap - beta + margin]+
///     l(a,n) = [beta - D_an + margin]+
///     loss = sum over triplets of l(a,p) + l(a,n), divided by the number of
///            the terms above zero
///
/// beta is a constant, or learnt, one for all or one for each class of the
/// anchor. D is the Euclidean distance. No triplet is listed: O(M^2 D) time,
/// O(M^2) memory.
class MarginAllLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "margin over all triplets of the batch";
  static constexpr PartFacts kFacts = {
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
  using Options = MarginAllOptions;

  MarginAllLoss(Options options, const LossContext& context)
      : options_(options), beta_(options_, context) {
    if (beta_.parameter().defined()) {
      register_parameter("beta", beta_.parameter());
    }
  }

  double parameter_lr(const std::string&) const override { return options_.lr; }
  bool decays_parameters() const override { return options_.decay; }
  int64_t classes() const override { return beta_.classes(); }

  LossOutput forward(const LossInput& input) const override {
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

 private:
  Options options_;
  MarginBeta beta_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "margin_all", MarginAllLoss);

}  // namespace kith
