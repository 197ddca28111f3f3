#include <torch/torch.h>

#include "kith/losses/class_vectors.h"

namespace kith {
namespace {

struct ProxyNcaPpOptions {
  double temperature = 1.0 / 9;
  VectorTraining training = {.lr = 1e-2};

  void describe(OptionSet& set) {
    set.add("temperature", temperature, "T; small: sharp.").positive();
    training.describe(set,
                      " The published 400 is for an Adam with epsilon 1, whose "
                      "steps shrink with the gradient.");
  }
};

/// ProxyNCA++ (Teh, DeVries & Taylor, ECCV 2020).
///
///     L = mean_i -log softmax_c(-|x_i - w_c / |w_c||^2 / T)[y_i]
///
/// over all proxies, the own one among them. |x|^2 + 1 is the same in all
/// distances of an example and cancels. Proxies start from N(0, 1/64).
/// O(M C D) time, O(M C) memory.
class ProxyNcaPpLoss final : public ClassVectorLoss {
 public:
  static constexpr const char* kSummary =
      "ProxyNCA++ (Teh et al., ECCV 2020), learns a proxy a class";
  static constexpr PartFacts kFacts = {
      .formula = "L = mean_i -log softmax_c(-|x_i - w_c / |w_c||^2 / T)[y_i]",
      .source = "Teh, DeVries & Taylor, ECCV 2020",
      .cost = "O(M C D) time, O(M C) memory"};
  using Options = ProxyNcaPpOptions;

  ProxyNcaPpLoss(const Options& options, const LossContext& context)
      : ClassVectorLoss({context, ClassInit::kNormalEighth}, options.training),
        options_(options) {}

  LossOutput forward(const LossInput& input) const override {
    const ClassProducts logits =
        vectors().products(input.embeddings, 2 / options_.temperature);
    return {logits.connect(mean_cross_entropy(logits.values(), input.labels)),
            {}};
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "proxy_nca_pp", ProxyNcaPpLoss);

}  // namespace kith
