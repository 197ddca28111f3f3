#pragma once

#include "kith/miners/miner.h"

namespace kith {

struct SemihardMinerOptions {
  double margin = 0.2;  ///< 0: any negative beyond the positive.

  void describe(OptionSet& set);
};

/// Semi-hard triplets (Schroff, Kalenichenko & Philbin, CVPR 2015), one for
/// each anchor that has a positive and a negative:
///
///     p uniform over P_a
///     n uniform over { n in N_a : D_ap < D_an < D_ap + margin },
///       or over N_a if there is none
class SemihardMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = SemihardMinerOptions;

  explicit SemihardMiner(const Options& options = {});

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;

 private:
  Options options_;
};

}  // namespace kith
