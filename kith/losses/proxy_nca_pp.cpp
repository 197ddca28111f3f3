#include "kith/losses/proxy_nca_pp.h"

#include <torch/torch.h>

namespace kith {

const char* const ProxyNcaPp::kSummary =
    "ProxyNCA++ (Teh et al., ECCV 2020), learns a proxy per class";

const PartFacts ProxyNcaPp::kFacts = {
    .formula =
        "L = mean_i -log softmax_c(-|x_i - w_c / |w_c||^2 / T)[y_i]\n"
        "with label smoothing e over C classes -log p[y_i] becomes\n"
        "-(1 - e) log p[y_i] - e / C sum_c log p[c]",
    .source = "Teh, DeVries & Taylor, ECCV 2020",
    .cost = "O(M C D) time, O(M C) memory"};

void ProxyNcaPpOptions::describe(OptionSet& set) {
  set.add("temperature", temperature, "T; small: sharp.").positive();
  describe_label_smoothing(set, label_smoothing);
  training.describe(set,
                    " The published 400 is for an Adam with epsilon 1, whose "
                    "steps shrink with the gradient.");
}

ProxyNcaPp::ProxyNcaPp(const Options& options, const LossContext& context)
    : ClassVectorLoss({context, ClassInit::kNormalEighth},
                      checked(options, "proxy_nca_pp").training),
      options_(options) {}

LossOutput ProxyNcaPp::forward(const LossInput& input) const {
  const ClassProducts logits =
      vectors().products(input.embeddings, 2 / options_.temperature);
  return {logits.connect(mean_cross_entropy(logits.values(), input.labels,
                                            options_.label_smoothing)),
          {}};
}

KITH_REGISTER(loss_registry(), "proxy_nca_pp", ProxyNcaPp);

}  // namespace kith
