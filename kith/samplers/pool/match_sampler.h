#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/rng.h"
#include "kith/core/tensor.h"
#include "kith/samplers/pool/pool_sampler.h"

namespace kith {

/// Of samplers that choose among random batches.
struct MatchOptions {
  PoolOptions pool = {};
  int64_t candidates = 10;  ///< Random batches, of which one is taken.

  void describe(OptionSet& set);
};

/// Chooses the batch that is most like its pool. The pool is P/m groups of m
/// class mates, their classes drawn with replacement, as in `spc`; a candidate
/// is M/m different groups of it. The candidate of least score is the batch,
/// the first of several.
class MatchSampler : public PoolSampler {
 public:
  MatchSampler(const MatchOptions& options, const SamplerInput& input,
               const std::string& name)
      : PoolSampler(options.pool, input, name),
        candidates_(options.candidates) {}

 protected:
  /// The scores [C] of `batches` [C, M], rows of `pool` [P, D].
  virtual Tensor score(const Tensor& pool, const Tensor& batches) const = 0;

 private:
  std::vector<int64_t> choose(const Tensor& embeddings, Rng& rng) const final;
  std::vector<int64_t> draw_pool(Rng& rng) const;
  std::vector<int64_t> draw_candidate(Rng& rng) const;

  int64_t candidates_;
};

}  // namespace kith
