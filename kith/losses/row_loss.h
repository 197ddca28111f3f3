#pragma once

#include <string>

#include "kith/losses/loss.h"
#include "kith/ops/row_engine.h"

namespace kith {

/// Options that every loss on the row engine has beside its own.
struct RowOptions {
  int64_t memory_mb = 512;
  std::string products = "float32";
  int64_t block = 0;

  void describe(OptionSet& set);
  RowLimits limits() const;
};

/// The same with similarity mixup, for losses that can take virtual examples.
struct MixedRowOptions : RowOptions {
  bool simix = false;
  int64_t simix_limit = 100000;

  void describe(OptionSet& set);
};

/// Runs a row loss on the batch as its own database, or on the given one; with
/// SiMix if the options say so. Counts rows in the statistics, by the name of
/// `row`: "queries", "anchors".
LossOutput compute_rows(const RowLoss& loss, const LossInput& input,
                        const MixedRowOptions& options, const std::string& row);

/// All unordered pairs of positives in the batch, class by class in the order
/// of the labels, with alphas from U(0, 1) keyed by `seed`. c10::ValueError if
/// there would be more than `limit`.
MixedPairs random_pairs(const Tensor& labels, uint64_t seed, int64_t limit);

}  // namespace kith
