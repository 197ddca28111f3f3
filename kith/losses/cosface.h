#pragma once

#include "kith/losses/class_vectors.h"

namespace kith {

struct CosFaceOptions {
  double scale = 64;           ///< Of all logits.
  double margin = 0.35;        ///< Taken from the own class's cosine.
  double label_smoothing = 0;  ///< See mean_cross_entropy().
  VectorTraining training = {.lr = 5e-4};

  void describe(OptionSet& set);
};

/// Large margin cosine loss (Wang et al., CVPR 2018).
///
///     cos t_c = x.w_c / |w_c|
///     L = mean_i -log softmax_c(s (cos t_c - m [c = y_i]))[y_i]
///
/// Class vectors start as a linear layer's weights. O(M C D) time, O(M C)
/// memory.
class CosFace final : public ClassVectorLoss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = CosFaceOptions;

  CosFace(const Options& options, const LossContext& context);

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
