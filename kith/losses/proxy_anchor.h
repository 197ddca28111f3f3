#pragma once

#include "kith/losses/class_vectors.h"

namespace kith {

struct ProxyAnchorOptions {
  double alpha = 32;    ///< Scale of similarities.
  double margin = 0.1;  ///< delta
  VectorTraining training = {.lr = 1e-2, .decay = true};  ///< As published.

  void describe(OptionSet& set);
};

/// Proxy anchor (Kim, Kim, Cho & Kwak, CVPR 2020).
///
///     s_ic = x_i.w_c / |w_c|
///     L = 1/|C+| sum_{c in C+}
///           log(1 + sum_{y_i = c} e^{-alpha (s_ic - delta)})
///       + 1/C sum_c log(1 + sum_{y_i != c} e^{alpha (s_ic + delta)})
///
/// C+ are the classes in the batch. Proxies start from N(0, 2/C). O(M C D)
/// time, O(M C) memory.
class ProxyAnchor final : public ClassVectorLoss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = ProxyAnchorOptions;

  ProxyAnchor(const Options& options, const LossContext& context);

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
