#pragma once

#include "kith/losses/class_vectors.h"

namespace kith {

struct ProxyNcaPpOptions {
  double temperature = 1.0 / 9;  ///< T; small: sharp.
  double label_smoothing = 0;    ///< See mean_cross_entropy().
  VectorTraining training = {.lr = 1e-2};

  void describe(OptionSet& set);
};

/// ProxyNCA++ (Teh, DeVries & Taylor, ECCV 2020).
///
///     L = mean_i -log softmax_c(-|x_i - w_c / |w_c||^2 / T)[y_i]
///
/// over all proxies, the own one among them. |x|^2 + 1 is the same in all
/// distances of an example and cancels. Proxies start from N(0, 1/64).
/// O(M C D) time, O(M C) memory.
class ProxyNcaPp final : public ClassVectorLoss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = ProxyNcaPpOptions;

  ProxyNcaPp(const Options& options, const LossContext& context);

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
