#pragma once

#include "kith/core/registry.h"
#include "kith/core/rng.h"
#include "kith/core/tensor.h"

namespace kith {

/// Chooses the tuples a loss is computed on.
class Miner {
 public:
  virtual ~Miner() = default;

  /// embeddings [M, D], labels [M] int64 -> [T, width()] int64 positions on the
  /// embeddings' device; [0, width()] where nothing can be chosen. Vectorised,
  /// with O(M^2) memory; the same on every device but for rounding.
  virtual Tensor mine(const Tensor& embeddings, const Tensor& labels,
                      Rng& rng) const = 0;

  /// 3: anchor, positive, negative; 2: pairs, which labels tell apart.
  virtual int64_t width() const { return 3; }
};

using MinerRegistry = Registry<Miner>;
MinerRegistry& miner_registry();

}  // namespace kith
