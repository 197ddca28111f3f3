#include <torch/torch.h>

#include "kith/losses/class_vectors.h"

namespace kith {
namespace {

struct NormSoftmaxOptions {
  double temperature = 0.05;
  VectorTraining training = {.lr = 1e-5};

  void describe(OptionSet& set) {
    set.add("temperature", temperature, "T; small: sharp.").positive();
    training.describe(set);
  }
};

/// Normalised softmax (Zhai & Wu, BMVC 2019).
///
///     L = mean_i -log softmax_c(x_i.w_c / (|w_c| T))[y_i]
///
/// over all classes, the own one among them. x is used as it is given. Class
/// vectors start as a linear layer's weights. O(M C D) time, O(M C) memory.
class NormSoftmaxLoss final : public ClassVectorLoss {
 public:
  static constexpr const char* kSummary =
      "normalised softmax (Zhai & Wu, BMVC 2019), learns a vector a class";
  static constexpr PartFacts kFacts = {
      .formula = "L = mean_i -log softmax_c(x_i.w_c / (|w_c| T))[y_i]",
      .source = "Zhai & Wu, BMVC 2019",
      .cost = "O(M C D) time, O(M C) memory",
      .golden = "rev_softmax, pml_normalized_softmax"};
  using Options = NormSoftmaxOptions;

  NormSoftmaxLoss(const Options& options, const LossContext& context)
      : ClassVectorLoss({context, ClassInit::kUniformDim}, options.training),
        options_(options) {}

  LossOutput forward(const LossInput& input) const override {
    const ClassProducts logits =
        vectors().products(input.embeddings, 1 / options_.temperature);
    return {logits.connect(mean_cross_entropy(logits.values(), input.labels)),
            {}};
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "norm_softmax", NormSoftmaxLoss);

}  // namespace kith
