#pragma once

#include "kith/miners/miner.h"

namespace kith {

/// One positive and one negative for each anchor, uniformly. Anchors without a
/// positive or a negative are left out. On the host: it is faster there than
/// the start of a few kernels, and waits for the device once, as any miner.
class RandomMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = NoOptions;

  explicit RandomMiner(const Options& = {}) {}

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;
};

}  // namespace kith
