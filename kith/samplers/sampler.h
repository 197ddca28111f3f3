#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kith/core/registry.h"

namespace kith {

/// What a sampler sees of the data: positions and labels, never images.
struct SamplerInput {
  std::vector<int64_t> indices;  ///< Positions of the training images.
  std::vector<int64_t> labels;   ///< Their labels, same length.
  uint64_t seed = 0;
  /// Groups of classes: "" where an image has none. May be empty.
  std::vector<std::string> categories = {};
  std::map<int64_t, std::string> class_names = {};  ///< May lack labels.

  /// For a message: the class's name in quotes, or its number.
  std::string class_name(int64_t label) const;
};

/// Embeddings of the training images, each as the network last made it.
struct EmbeddingPool {
  int64_t dim = 0;
  const float* values = nullptr;  ///< [images, dim], as SamplerInput::indices.
};

/// What an epoch's batches are made from.
struct EpochInput {
  int64_t epoch = 0;
  EmbeddingPool pool = {};  ///< For samplers that want one.

  EpochInput(int64_t number) : epoch(number) {}  // NOLINT: a number will do
  EpochInput(int64_t number, EmbeddingPool embeddings)
      : epoch(number), pool(embeddings) {}
};

/// Decides which images make a batch.
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// The batches of an epoch, as positions. A pure function of the seed and
  /// the input: a resumed run calls it again and skips what it has done.
  virtual std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const = 0;

  /// Whether it chooses by embeddings: then the trainer keeps a pool of those
  /// that the batches give, and plans each epoch when the last one has ended.
  virtual bool wants_pool() const { return false; }

  /// Whether the pool is to be computed anew before each epoch.
  virtual bool rebuilds_pool() const { return false; }
};

using SamplerRegistry = Registry<Sampler, SamplerInput>;
SamplerRegistry& sampler_registry();

}  // namespace kith
