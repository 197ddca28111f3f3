#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

struct HistogramOptions {
  int64_t bins = 65;  ///< Centres R.
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Histogram loss (Ustinova & Lempitsky, NeurIPS 2016): the probability that a
/// negative pair is more similar than a positive one.
///
///     h+, h-: triangular histograms of the similarities of all positive and
///             all negative pairs, on R centres of [-1, 1], each of sum 1
///     loss = sum_r h-_r sum_{q <= r} h+_q
///
/// Zero if the batch has no positives or no negatives.
class Histogram final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = HistogramOptions;

  explicit Histogram(const Options& options = {});
};

}  // namespace kith
