#pragma once

#include "kith/losses/class_vectors.h"

namespace kith {

struct ProxyNcaOptions {
  double scale = 1;               ///< Length of embeddings and proxies.
  bool include_positive = false;  ///< Sum over all proxies.
  VectorTraining training = {.lr = 5e-4};

  void describe(OptionSet& set);
};

/// ProxyNCA (Movshovitz-Attias et al., ICCV 2017).
///
///     d_c = scale^2 |x - w_c / |w_c||^2
///     L   = mean_i d_y + log sum_{c != y} exp(-d_c)
///
/// with c over the classes other than y = y_i, or over all. |x|^2 + 1 is the
/// same in all distances of an example and cancels, so products
/// 2 scale^2 x.w_c / |w_c| take the place of -d_c. With one class there are no
/// others and the loss is zero. Proxies start from N(0, 1/64). O(M C D) time,
/// O(M C) memory.
class ProxyNca final : public ClassVectorLoss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = ProxyNcaOptions;

  ProxyNca(const Options& options, const LossContext& context);

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
