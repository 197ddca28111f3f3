#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/rng.h"
#include "kith/core/tensor.h"
#include "kith/samplers/classes.h"
#include "kith/samplers/sampler.h"

namespace kith {

struct PoolOptions {
  int64_t batch = 112;    ///< Images, a multiple of per_class.
  int64_t per_class = 2;  ///< Images of a class each time it is drawn.
  int64_t pool = 512;     ///< Images that a batch is chosen from.
  bool rebuild = false;   ///< Compute all embeddings anew before each epoch.

  void describe(OptionSet& set);
};

/// What samplers share that choose each batch from a pool of images by their
/// embeddings. Batch b of an epoch depends on the seed, the epoch, b and the
/// embeddings alone, so batches are planned side by side in threads. An epoch
/// is N/M batches.
class PoolSampler : public Sampler {
 public:
  /// `name` is what errors call it.
  PoolSampler(const PoolOptions& options, const SamplerInput& input,
              const std::string& name);

  std::vector<std::vector<int64_t>> epoch(const EpochInput& input) const final;
  bool wants_pool() const final { return true; }
  bool rebuilds_pool() const final { return options_.rebuild; }

 protected:
  /// One batch, as rows of `embeddings` [N, D].
  virtual std::vector<int64_t> choose(const Tensor& embeddings,
                                      Rng& rng) const = 0;

  int64_t batch() const { return options_.batch; }
  int64_t per_class() const { return options_.per_class; }
  /// The images of a pool: at most all, and a multiple of per_class().
  int64_t pool() const { return options_.pool; }
  int64_t images() const { return static_cast<int64_t>(indices_.size()); }
  /// Rows by class.
  const ClassImages& classes() const { return classes_; }

 private:
  PoolOptions options_;
  uint64_t seed_;
  int64_t batches_;
  std::vector<int64_t> indices_;
  ClassImages classes_;
};

}  // namespace kith
