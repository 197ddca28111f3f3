#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kith/losses/loss.h"

namespace kith {

class RowReplay;
struct RowLimits;
struct RowLoss;

/// Options that every loss on the row engine has beside its own.
struct RowOptions {
  int64_t memory_mb = 512;           ///< Budget for blocks of similarities.
  std::string products = "float32";  ///< On a GPU; see RowProducts.
  int64_t block = 0;                 ///< Most rows of a block; 0: by memory_mb.

  void describe(OptionSet& set);
  RowLimits limits() const;
};

/// The same with similarity mixup, for losses that can take virtual examples.
struct MixedRowOptions {
  RowOptions engine = {};
  bool simix = false;  ///< A virtual example for each pair of positives.
  int64_t simix_limit = 100000;  ///< Most of them.

  void describe(OptionSet& set);
};

/// Runs a row loss on the batch as its own database, or on the given one; with
/// SiMix if the options say so. Counts rows in the statistics, by the name of
/// `row`: "queries", "anchors". `replay` is the caller's.
LossOutput compute_rows(const RowLoss& loss, const LossInput& input,
                        const MixedRowOptions& options, const std::string& row,
                        RowReplay& replay);

/// A loss that is one row loss of kith/losses/rows, whatever the batch.
class LossOnRows : public Loss {
 public:
  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 protected:
  /// `make`: see row_maker() in kith/ops/row_engine.h; `row` and
  /// `euclidean`: see compute_rows() and RowLoss.
  LossOnRows(MixedRowOptions options, std::function<RowLoss()> make,
             std::string row, bool euclidean = false);

  LossOutput forward(const LossInput& input) const override;

 private:
  MixedRowOptions options_;
  std::function<RowLoss()> make_;
  std::string row_;
  bool euclidean_;
  std::shared_ptr<RowReplay> replay_;
};

/// All unordered pairs of positives in the batch, class by class in the order
/// of the labels, with alphas from U(0, 1) keyed by `seed`. c10::ValueError if
/// there would be more than `limit`.
MixedPairs random_pairs(const Tensor& labels, uint64_t seed, int64_t limit);

}  // namespace kith
