#pragma once

#include "kith/losses/class_vectors.h"

namespace kith {

struct ArcFaceOptions {
  double scale = 16;    ///< Of all logits.
  double margin = 0.5;  ///< Added to the own class's angle, in radians.
  bool clamp = false;   ///< Clamp cosines to (0, 1) first, as published code.
  double label_smoothing = 0;  ///< See mean_cross_entropy().
  VectorTraining training = {.lr = 5e-4};

  void describe(OptionSet& set);
};

/// Additive angular margin (Deng, Guo, Xue & Zafeiriou, CVPR 2019).
///
///     cos t_c = x.w_c / |w_c|
///     L = mean_i -log softmax_c(s cos(t_c + m [c = y_i]))[y_i]
///
/// The own class's logit is cos t cos m - sin t sin m, which needs no arccos
/// and has a finite slope wherever it has one. Class vectors start as a linear
/// layer's weights. O(M C D) time, O(M C) memory.
class ArcFace final : public ClassVectorLoss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = ArcFaceOptions;

  ArcFace(const Options& options, const LossContext& context);

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
