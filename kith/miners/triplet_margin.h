#pragma once

#include <string>

#include "kith/miners/miner.h"

namespace kith {

struct TripletMarginMinerOptions {
  std::string kind = "all";  ///< Or "hard", "semihard", "easy".
  double margin = 0.2;

  void describe(OptionSet& set);
};

/// All triplets of a kind, as in pytorch-metric-learning. With
/// g = D_an - D_ap:
///
///     all       g <= margin
///     hard      g <= margin, g <= 0
///     semihard  0 < g <= margin
///     easy      g > margin
///
/// The triplets themselves may be many, up to M times the positive pairs; what
/// is needed beside them is O(M^2): positive pairs are taken in stretches.
class TripletMarginMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = TripletMarginMinerOptions;

  explicit TripletMarginMiner(Options options = {});

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;

 private:
  Options options_;
};

}  // namespace kith
