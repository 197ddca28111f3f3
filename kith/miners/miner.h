#pragma once

#include "kith/core/registry.h"
#include "kith/core/rng.h"
#include "kith/core/tensor.h"

namespace kith {

/// Chooses the tuples a loss is computed on:
///
///     LossInput input{embeddings, labels};
///     input.tuples = SemihardMiner({.margin = 0.1})(embeddings, labels);
///     LossOutput out = Triplet({.margin = 0.1})(input);
class Miner {
 public:
  virtual ~Miner() = default;

  /// embeddings [M, D], labels [M] int64 on the same device -> [T, width()]
  /// int64 positions on that device; [0, width()] where nothing can be chosen.
  /// c10::ValueError says what is wrong with the input. The same on every
  /// device but for rounding.
  Tensor operator()(const Tensor& embeddings, const Tensor& labels,
                    Rng& rng) const;

  /// The same with random numbers of a seed.
  Tensor operator()(const Tensor& embeddings, const Tensor& labels,
                    uint64_t seed = 0) const;

  /// 3: anchor, positive, negative; 2: pairs, which labels tell apart.
  virtual int64_t width() const { return 3; }

 protected:
  /// The choice, of M > 0 examples that have been checked. Vectorised, with
  /// O(M^2) memory.
  virtual Tensor mine(const Tensor& embeddings, const Tensor& labels,
                      Rng& rng) const = 0;

  /// [0, width()] int64 on the device of `like`.
  Tensor no_tuples(const Tensor& like) const;
};

using MinerRegistry = Registry<Miner>;
MinerRegistry& miner_registry();

}  // namespace kith
