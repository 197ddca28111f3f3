#pragma once

#include <vector>

#include "kith/samplers/pool/pool_sampler.h"

namespace kith {

/// Greedy coreset (GC): batches that cover much of the embedding space. Of a
/// pool of P random images, a random one and then always the one farthest from
/// those chosen, x* = argmax_x min_{x' chosen} |x - x'|, until there are M/m
/// anchors; each brings m-1 random class mates. An image comes twice in a
/// batch only when its class has no other left (Roth et al., ICML 2020).
class GreedyCoresetSampler final : public PoolSampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = PoolOptions;

  GreedyCoresetSampler(const Options& options, const SamplerInput& input);

 private:
  std::vector<int64_t> choose(const Tensor& embeddings,
                              Rng& rng) const override;
  size_t class_of(int64_t row) const;

  std::vector<size_t> class_of_;  ///< By row.
};

/// Rows of `points` [P, D] (float, CPU) that cover them: the first row, then
/// `count` - 1 times the row farthest from those chosen, argmax_i min_j
/// |x_i - x_j|. The earlier row wins a tie, and no row comes twice. O(count P
/// D) time, O(P) memory.
std::vector<int64_t> farthest_points(const Tensor& points, int64_t count);

}  // namespace kith
