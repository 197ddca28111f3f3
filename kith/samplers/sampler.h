#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/registry.h"

namespace kith {

/// What a sampler sees of the data: positions and labels, never images.
struct SamplerInput {
  std::vector<int64_t> indices;  ///< Positions of the training images.
  std::vector<int64_t> labels;   ///< Their labels, same length.
  uint64_t seed = 0;
};

/// Decides which images make a batch.
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// The batches of an epoch, as positions. A pure function of the seed and
  /// the epoch: a resumed run calls it again and skips what it has done.
  virtual std::vector<std::vector<int64_t>> epoch(int64_t epoch) const = 0;
};

using SamplerRegistry = Registry<Sampler, SamplerInput>;
SamplerRegistry& sampler_registry();

}  // namespace kith
