#pragma once

#include "kith/miners/miner.h"

namespace kith {

/// Soft-hard triplets (Roth et al., ICML 2020), one for each anchor that has a
/// positive and a negative:
///
///     p uniform over { p in P_a : D_ap > min_n D_an }, or over P_a
///     n uniform over { n in N_a : D_an < max_p D_ap }, or over N_a
class SofthardMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = NoOptions;

  explicit SofthardMiner(const Options& = {}) {}

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;
};

}  // namespace kith
