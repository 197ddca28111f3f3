#pragma once

#include <string>

#include "kith/losses/row_loss.h"

namespace kith {

struct MultiSimilarityOptions {
  double alpha = 2;
  double beta = 40;
  double base = 0.5;
  double epsilon = 0.1;
  bool mining = true;               ///< False: all pairs are kept.
  std::string reduction = "batch";  ///< Or "anchors": those with a pair.
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Multi-similarity loss (Wang, Han, Huang, Dong & Scott, CVPR 2019).
///
///     keep negatives with s > min_p s - epsilon,
///          positives with s < max_n s + epsilon
///     l(a) = 1/alpha log(1 + sum_p e^{-alpha (s_p - base)})
///          + 1/beta  log(1 + sum_n e^{beta (s_n - base)})
///
/// Mean over the batch; an anchor without pairs counts with zero.
class MultiSimilarity final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = MultiSimilarityOptions;

  explicit MultiSimilarity(const Options& options = {});
};

}  // namespace kith
