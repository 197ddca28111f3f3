#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

struct ApQuantisedOptions {
  int64_t num_bins = 20;  ///< Centres Q.
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Quantised average precision (He, Lu & Sclaroff, CVPR 2018; Revaud, Almazan,
/// Rezende & de Souza, ICCV 2019): a soft histogram of similarities.
///
///     centres b_m = 1 - 2 m / (Q - 1), m = 0 .. Q-1, triangular weights
///     AP(q) = sum_m (H+_m / H_m) h+_m / |P_q|,  H cumulative from b_0 = 1 down
///     loss = mean over queries with positives of 1 - AP(q)
///
/// It is fast_ap with num_bins = Q - 1, which writes 2 - 2 s for distances.
class ApQuantised final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = ApQuantisedOptions;

  explicit ApQuantised(const Options& options = {});
};

}  // namespace kith
