#pragma once

#include <string>
#include <vector>

#include "kith/losses/loss.h"

namespace kith {

struct SnrOptions {
  double margin = 0.2;  ///< How much farther the negative should be.
  double reg = 0.005;   ///< Weight of the mean |sum of coordinates|.
  std::string reduction = "active";  ///< Mean over these, or "all" triplets.

  void describe(OptionSet& set);
};

/// Triplet loss on signal-to-noise ratios (Yuan et al., CVPR 2019).
///
///     snr_ij = var(x_i - x_j) / var(x_i), over the coordinates
///     l(a,p,n) = [snr_ap - snr_an + margin]+
///     loss = mean l + reg * mean |sum_m x_am|
///
/// A triplet whose anchor has no variance has no ratio and no term. Columns are
/// used as they are given, whatever the labels. O((T + M) D) time and memory.
class Snr final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  /// The published code leaves the regulariser out with distance-weighted
  /// tuples.
  static constexpr LossTraits kTraits = {
      .miner = "distance_weighted",
      .with_miner = {{"distance_weighted", "reg", "0"},
                     {"rho_distance", "reg", "0"}}};
  using Options = SnrOptions;

  explicit Snr(Options options = {});

  std::vector<int64_t> tuple_widths() const override { return {3}; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
