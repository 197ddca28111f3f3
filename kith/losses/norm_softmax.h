#pragma once

#include "kith/losses/class_vectors.h"

namespace kith {

struct NormSoftmaxOptions {
  double temperature = 0.05;   ///< T; small: sharp.
  double label_smoothing = 0;  ///< See mean_cross_entropy().
  VectorTraining training = {.lr = 1e-5};

  void describe(OptionSet& set);
};

/// Normalised softmax (Zhai & Wu, BMVC 2019).
///
///     L = mean_i -log softmax_c(x_i.w_c / (|w_c| T))[y_i]
///
/// over all classes, the own one among them. x is used as it is given. Class
/// vectors start as a linear layer's weights. O(M C D) time, O(M C) memory.
class NormSoftmax final : public ClassVectorLoss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = NormSoftmaxOptions;

  NormSoftmax(const Options& options, const LossContext& context);

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
