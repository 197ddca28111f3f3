#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

struct FastApOptions {
  int64_t num_bins = 10;   ///< Intervals L.
  bool euclidean = false;  ///< d = |x - y|^2, with the distance's gradient.
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// FastAP (Cakir, He, Xia, Kulis & Sclaroff, CVPR 2019): average precision over
/// a soft histogram of squared distances.
///
///     d = 2 - 2 s in [0, 4], centres c_l = 4 l / L for l = 0 .. L
///     h+_l, h_l: positives, all, with weights max(0, 1 - |d - c_l| L / 4)
///     AP(q) = 1/|P_q| sum_l h+_l H+_l / H_l,  H cumulative
///     loss = mean over queries with positives of 1 - AP(q)
///
/// Each pair is in two bins: O(M + L) a row. The gradient is the derivative of
/// the loss; the published backward is N/2 times that.
class FastAp final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = FastApOptions;

  explicit FastAp(const Options& options = {});
};

}  // namespace kith
