#pragma once

#include "kith/losses/class_vectors.h"

namespace kith {

struct SoftTripleOptions {
  int64_t centers = 2;         ///< K, vectors a class.
  double lambda = 8;           ///< Factor of all logits.
  double gamma = 0.1;          ///< Temperature of the choice among a class's.
  double delta = 0.01;         ///< Margin of the own class.
  double tau = 0.2;            ///< Weight of distances within classes.
  double label_smoothing = 0;  ///< See mean_cross_entropy().
  VectorTraining training = {.lr = 1e-5};

  void describe(OptionSet& set);
};

/// SoftTriple (Qian et al., ICCV 2019).
///
///     S_ic = sum_k softmax_k(x_i.w_ck / gamma) x_i.w_ck,   |w_ck| = 1
///     L = mean_i -log softmax_c(lambda (S_ic - delta [c = y_i]))[y_i]
///       + tau / (C K (K - 1)) sum_c sum_{k < k'} sqrt(2 - 2 w_ck.w_ck')
///
/// Vectors start from U(-b, b), b = 1 / sqrt(C K). O(M C K D) time, O(M C K)
/// memory.
class SoftTriple final : public ClassVectorLoss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = SoftTripleOptions;

  SoftTriple(const Options& options, const LossContext& context);

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  /// Of similarities to classes [M, C].
  SlopedValue cross_entropy(const Tensor& soft, const Tensor& labels) const;

  /// The penalty on distances within classes, and its slope in unit vectors
  /// w [K C, D]; zero between vectors that are equal.
  SlopedValue spread_of(const Tensor& w) const;

  Options options_;
};

}  // namespace kith
