#pragma once

#include <memory>
#include <vector>

#include "kith/losses/row_loss.h"

namespace kith {

struct RecallAtKOptions {
  /// Recall@k is averaged over these; empty: as published, 1 to 16, and with
  /// virtual examples 1 to 32.
  std::vector<int64_t> k = {};
  double t1 = 1.0;   ///< Temperature of the sigmoid on ranks.
  double t2 = 0.01;  ///< Temperature of the sigmoid on similarities.
  bool query_in_database = false;  ///< As the published code ranks.
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Recall@k surrogate, RS@k (Patel, Tolias & Matas, CVPR 2022).
///
///     r(q,x) = 1 + sum_{z != q,x} sigma_t2(s_qz - s_qx)        x in P_q
///     R_k(q) = min(k, sum_{x in P_q} sigma_t1(k - r(q,x))) / min(k, |P_q|)
///     loss   = mean over q and k of 1 - R_k(q)
///
/// s is the inner product; embeddings are unit vectors. Queries without
/// positives are left out and counted. M |P| M sigmoids on the row engine.
class RecallAtK final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = RecallAtKOptions;

  explicit RecallAtK(Options options = {});

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
  std::shared_ptr<RowReplay> replay_;
};

}  // namespace kith
