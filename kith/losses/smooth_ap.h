#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

struct SmoothApOptions {
  double temperature = 0.01;
  bool query_in_database = false;  ///< As the published code ranks.
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Smooth-AP (Brown, Xie, Kalogeiton & Zisserman, ECCV 2020).
///
///     AP(q) = 1/|P_q| sum_{x in P_q} R(x, P_q) / R(x, all),
///     R(x, Z) = 1 + sum_{z in Z, z != x} sigma_t(s_qz - s_qx)
///     loss = mean over queries with positives of 1 - AP(q)
///
/// "all" is the batch without the query. M |P| M sigmoids on the row engine.
class SmoothAp final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = SmoothApOptions;

  explicit SmoothAp(const Options& options = {});
};

}  // namespace kith
