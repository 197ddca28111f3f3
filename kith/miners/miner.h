#pragma once

#include "kith/core/registry.h"
#include "kith/core/rng.h"
#include "kith/core/tensor.h"

namespace kith {

/// Chooses the tuples a loss is computed on.
class Miner {
 public:
  virtual ~Miner() = default;

  /// embeddings [M, D], labels [M] int64 -> [T, 3] int64 (anchor, positive,
  /// negative) on the embeddings' device; [0, 3] where nothing can be chosen.
  virtual Tensor mine(const Tensor& embeddings, const Tensor& labels,
                      Rng& rng) const = 0;
};

using MinerRegistry = Registry<Miner>;
MinerRegistry& miner_registry();

}  // namespace kith
