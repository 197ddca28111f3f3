#include "kith/losses/cosface.h"

#include <torch/torch.h>

namespace kith {

const char* const CosFace::kSummary =
    "CosFace (Wang et al., CVPR 2018), learns a vector per class";

const PartFacts CosFace::kFacts = {
    .formula =
        "cos t_c = x.w_c / |w_c|\n"
        "L = mean_i -log softmax_c(s (cos t_c - m [c = y_i]))[y_i]\n"
        "with label smoothing e over C classes -log p[y_i] becomes\n"
        "-(1 - e) log p[y_i] - e / C sum_c log p[c]",
    .source = "Wang, Wang, Zhou, Ji, Gong, Zhou, Li & Liu, CVPR 2018",
    .cost = "O(M C D) time, O(M C) memory",
    .golden = "pml_cosface"};

void CosFaceOptions::describe(OptionSet& set) {
  set.add("scale", scale, "Factor s of all logits.").positive();
  set.add("margin", margin, "m, taken from the own class's cosine.");
  describe_label_smoothing(set, label_smoothing);
  training.describe(set);
}

CosFace::CosFace(const Options& options, const LossContext& context)
    : ClassVectorLoss({context, ClassInit::kUniformDim},
                      checked(options, "cosface").training),
      options_(options) {}

LossOutput CosFace::forward(const LossInput& input) const {
  const double s = options_.scale;
  const ClassProducts products = vectors().products(input.embeddings, s);
  const Tensor own = input.labels.unsqueeze(1);
  const Tensor margin =
      torch::full({1, 1}, -s * options_.margin, products.values().options())
          .expand_as(own);
  const Tensor logits = products.values().scatter_add(1, own, margin);
  return {products.connect(mean_cross_entropy(logits, input.labels,
                                              options_.label_smoothing)),
          {}};
}

KITH_REGISTER(loss_registry(), "cosface", CosFace);

}  // namespace kith
