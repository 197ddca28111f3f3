#include <torch/torch.h>

#include "kith/losses/class_vectors.h"

namespace kith {
namespace {

struct CosFaceOptions {
  double scale = 64;
  double margin = 0.35;
  VectorTraining training = {.lr = 5e-4};

  void describe(OptionSet& set) {
    set.add("scale", scale, "Factor s of all logits.").positive();
    set.add("margin", margin, "m, taken from the own class's cosine.");
    training.describe(set);
  }
};

/// Large margin cosine loss (Wang et al., CVPR 2018).
///
///     cos t_c = x.w_c / |w_c|
///     L = mean_i -log softmax_c(s (cos t_c - m [c = y_i]))[y_i]
///
/// Class vectors start as a linear layer's weights. O(M C D) time, O(M C)
/// memory.
class CosFaceLoss final : public ClassVectorLoss {
 public:
  static constexpr const char* kSummary =
      "CosFace (Wang et al., CVPR 2018), learns a vector a class";
  static constexpr PartFacts kFacts = {
      .formula =
          "cos t_c = x.w_c / |w_c|\n"
          "L = mean_i -log softmax_c(s (cos t_c - m [c = y_i]))[y_i]",
      .source = "Wang, Wang, Zhou, Ji, Gong, Zhou, Li & Liu, CVPR 2018",
      .cost = "O(M C D) time, O(M C) memory",
      .golden = "pml_cosface"};
  using Options = CosFaceOptions;

  CosFaceLoss(const Options& options, const LossContext& context)
      : ClassVectorLoss({context, ClassInit::kUniformDim}, options.training),
        options_(options) {}

  LossOutput forward(const LossInput& input) const override {
    const double s = options_.scale;
    const ClassProducts products = vectors().products(input.embeddings, s);
    const Tensor own = input.labels.unsqueeze(1);
    const Tensor margin =
        torch::full({1, 1}, -s * options_.margin, products.values().options())
            .expand_as(own);
    const Tensor logits = products.values().scatter_add(1, own, margin);
    return {products.connect(mean_cross_entropy(logits, input.labels)), {}};
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "cosface", CosFaceLoss);

}  // namespace kith
