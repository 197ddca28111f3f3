#pragma once

#include "kith/miners/miner.h"

namespace kith {

/// Batch-hard triplets (Hermans, Beyer & Leibe, 2017): for each anchor that has
/// both the farthest positive and the nearest negative.
class BatchHardMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = NoOptions;

  explicit BatchHardMiner(const Options& = {}) {}

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;
};

}  // namespace kith
