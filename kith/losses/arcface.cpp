#include "kith/losses/arcface.h"

#include <cmath>

#include <torch/torch.h>

namespace kith {

const char* const ArcFace::kSummary =
    "ArcFace (Deng et al., CVPR 2019), learns a vector per class";

const PartFacts ArcFace::kFacts = {
    .formula =
        "cos t_c = x.w_c / |w_c|\n"
        "L = mean_i -log softmax_c(s cos(t_c + m [c = y_i]))[y_i]\n"
        "with label smoothing e over C classes -log p[y_i] becomes\n"
        "-(1 - e) log p[y_i] - e / C sum_c log p[c]",
    .source = "Deng, Guo, Xue & Zafeiriou, CVPR 2019",
    .cost = "O(M C D) time, O(M C) memory",
    .golden = "rev_arcface, pml_arcface"};

void ArcFaceOptions::describe(OptionSet& set) {
  set.add("scale", scale, "Factor s of all logits.").positive();
  set.add("margin", margin, "Angle m added to the own class's, in radians.")
      .range(0, 3.14159265358979);
  set.add("clamp", clamp,
          "Clamp cosines to [1e-10, 1 - 1e-10] first, as published code "
          "does: negative ones then lose value and gradient.");
  describe_label_smoothing(set, label_smoothing);
  training.describe(set);
}

ArcFace::ArcFace(const Options& options, const LossContext& context)
    : ClassVectorLoss({context, ClassInit::kUniformDim},
                      checked(options, "arcface").training),
      options_(options) {}

LossOutput ArcFace::forward(const LossInput& input) const {
  constexpr double kLow = 1e-10;
  const double s = options_.scale;
  const ClassProducts products = vectors().products(input.embeddings, s);
  Tensor logits = products.values();  // s cos t
  if (options_.clamp) logits = logits.clamp(s * kLow, s * (1 - kLow));
  const Tensor own = input.labels.unsqueeze(1);
  const Tensor cosine = logits.gather(1, own).div_(s);  // [M, 1]
  const Tensor sine = (1 - cosine.square()).clamp_min_(0).sqrt_();
  const double cos_m = std::cos(options_.margin);
  const double sin_m = std::sin(options_.margin);
  logits = logits.scatter(1, own, (cosine * cos_m - sine * sin_m).mul_(s));
  SlopedValue loss =
      mean_cross_entropy(logits, input.labels, options_.label_smoothing);
  // d cos(t + m) / d cos t; where t is 0 or pi it is not defined, and the
  // sine is taken as constant.
  const Tensor turn =
      (cosine / sine).masked_fill_(sine == 0, 0) * sin_m + cos_m;
  loss.slope.scatter_(1, own, loss.slope.gather(1, own).mul_(turn));
  if (options_.clamp) {
    const Tensor& before = products.values();
    loss.slope.masked_fill_((before < s * kLow) | (before > s * (1 - kLow)), 0);
  }
  return {products.connect(loss), {}};
}

KITH_REGISTER(loss_registry(), "arcface", ArcFace);

}  // namespace kith
