#include <limits>

#include <torch/torch.h>

#include "kith/losses/class_vectors.h"

namespace kith {
namespace {

struct ProxyNcaOptions {
  double scale = 1;
  bool include_positive = false;
  VectorTraining training = {.lr = 5e-4};

  void describe(OptionSet& set) {
    set.add("scale", scale,
            "Length of embeddings and proxies, so distances grow by its "
            "square; published code takes 3.")
        .positive();
    set.add("include_positive", include_positive,
            "Sum over all proxies, the own class's too, as "
            "pytorch-metric-learning does.");
    training.describe(set);
  }
};

/// ProxyNCA (Movshovitz-Attias et al., ICCV 2017).
///
///     d_c = scale^2 |x - w_c / |w_c||^2
///     L   = mean_i d_y + log sum_{c != y} exp(-d_c)
///
/// with c over the classes other than y = y_i, or over all. |x|^2 + 1 is the
/// same in all distances of an example and cancels, so products
/// 2 scale^2 x.w_c / |w_c| take the place of -d_c. With one class there are no
/// others and the loss is zero. Proxies start from N(0, 1/64). O(M C D) time,
/// O(M C) memory.
class ProxyNcaLoss final : public ClassVectorLoss {
 public:
  static constexpr const char* kSummary =
      "ProxyNCA (Movshovitz-Attias et al., ICCV 2017), learns a proxy a class";
  static constexpr PartFacts kFacts = {
      .formula =
          "d_c = scale^2 |x_i - w_c / |w_c||^2\n"
          "L = mean_i d_y + log sum_{c != y} exp(-d_c), y = y_i",
      .source = "Movshovitz-Attias, Toshev, Leung, Ioffe & Singh, ICCV 2017",
      .cost = "O(M C D) time, O(M C) memory",
      .golden = "rev_proxynca, pml_proxy_nca"};
  using Options = ProxyNcaOptions;

  ProxyNcaLoss(const Options& options, const LossContext& context)
      : ClassVectorLoss({context, ClassInit::kNormalEighth}, options.training),
        options_(options) {}

  LossOutput forward(const LossInput& input) const override {
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

 private:
  /// Mean of log sum_{c != y} e^{z_c} - z_y.
  static SlopedValue against_others(const Tensor& logits,
                                    const Tensor& labels) {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const double share = 1 / static_cast<double>(logits.size(0));
    const Tensor own = labels.unsqueeze(1);
    Tensor others = logits.scatter(1, own, kNever);
    const Tensor sum = others.logsumexp(1, /*keepdim=*/true);
    const Tensor value = (sum - logits.gather(1, own)).sum() * share;
    const Tensor slope = others.sub_(sum).exp_().mul_(share);
    return {value, slope.scatter_(1, own, -share)};
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "proxy_nca", ProxyNcaLoss);

}  // namespace kith
