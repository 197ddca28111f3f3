#include "kith/losses/norm_softmax.h"

#include <torch/torch.h>

namespace kith {

const char* const NormSoftmax::kSummary =
    "normalised softmax (Zhai & Wu, BMVC 2019), learns a vector per class";

const PartFacts NormSoftmax::kFacts = {
    .formula =
        "L = mean_i -log softmax_c(x_i.w_c / (|w_c| T))[y_i]\n"
        "with label smoothing e over C classes -log p[y_i] becomes\n"
        "-(1 - e) log p[y_i] - e / C sum_c log p[c]",
    .source = "Zhai & Wu, BMVC 2019",
    .cost = "O(M C D) time, O(M C) memory",
    .golden = "rev_softmax, pml_normalized_softmax"};

void NormSoftmaxOptions::describe(OptionSet& set) {
  set.add("temperature", temperature, "T; small: sharp.").positive();
  describe_label_smoothing(set, label_smoothing);
  training.describe(set);
}

NormSoftmax::NormSoftmax(const Options& options, const LossContext& context)
    : ClassVectorLoss({context, ClassInit::kUniformDim},
                      checked(options, "norm_softmax").training),
      options_(options) {}

LossOutput NormSoftmax::forward(const LossInput& input) const {
  const ClassProducts logits =
      vectors().products(input.embeddings, 1 / options_.temperature);
  return {logits.connect(mean_cross_entropy(logits.values(), input.labels,
                                            options_.label_smoothing)),
          {}};
}

KITH_REGISTER(loss_registry(), "norm_softmax", NormSoftmax);

}  // namespace kith
