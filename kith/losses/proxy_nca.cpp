#include "kith/losses/proxy_nca.h"

#include <limits>

#include <torch/torch.h>

namespace kith {
namespace {

/// Mean of log sum_{c != y} e^{z_c} - z_y.
SlopedValue against_others(const Tensor& logits, const Tensor& labels) {
  const double share = 1 / static_cast<double>(logits.size(0));
  const Tensor own = labels.unsqueeze(1);
  Tensor others =
      logits.scatter(1, own, -std::numeric_limits<double>::infinity());
  const Tensor sum = others.logsumexp(1, /*keepdim=*/true);
  const Tensor value = (sum - logits.gather(1, own)).sum() * share;
  const Tensor slope = others.sub_(sum).exp_().mul_(share);
  return {value, slope.scatter_(1, own, -share)};
}

}  // namespace

const char* const ProxyNca::kSummary =
    "ProxyNCA (Movshovitz-Attias et al., ICCV 2017), learns a proxy per class";

const PartFacts ProxyNca::kFacts = {
    .formula =
        "d_c = scale^2 |x_i - w_c / |w_c||^2\n"
        "L = mean_i d_y + log sum_{c != y} exp(-d_c), y = y_i",
    .source = "Movshovitz-Attias, Toshev, Leung, Ioffe & Singh, ICCV 2017",
    .cost = "O(M C D) time, O(M C) memory",
    .golden = "rev_proxynca, pml_proxy_nca"};

void ProxyNcaOptions::describe(OptionSet& set) {
  set.add("scale", scale,
          "Length of embeddings and proxies, so distances grow by its "
          "square; published code takes 3.")
      .positive();
  set.add("include_positive", include_positive,
          "Sum over all proxies, the own class's too, as "
          "pytorch-metric-learning does.");
  training.describe(set);
}

ProxyNca::ProxyNca(const Options& options, const LossContext& context)
    : ClassVectorLoss({context, ClassInit::kNormalEighth},
                      checked(options, "proxy_nca").training),
      options_(options) {}

LossOutput ProxyNca::forward(const LossInput& input) const {
  const Tensor& x = input.embeddings;
  if (classes() == 1 || x.size(0) == 0) return {x.sum() * 0, {}};
  const ClassProducts products =
      vectors().products(x, 2 * options_.scale * options_.scale);
  const Tensor& logits = products.values();
  return {products.connect(options_.include_positive
                               ? mean_cross_entropy(logits, input.labels)
                               : against_others(logits, input.labels)),
          {}};
}

KITH_REGISTER(loss_registry(), "proxy_nca", ProxyNca);

}  // namespace kith
