#pragma once

#include <memory>
#include <vector>

#include "kith/core/registry.h"
#include "kith/core/rng.h"
#include "kith/image/image.h"

namespace kith {

/// A random change of a training image that keeps its class. An augmentation
/// is stateless: all its randomness comes from the generator it is given,
/// which is keyed by (seed, epoch, step, position in the batch).
class Augmentation {
 public:
  virtual ~Augmentation() = default;
  virtual Image apply(const Image& image, Rng& rng) const = 0;
};

using AugmentationRegistry = Registry<Augmentation>;
AugmentationRegistry& augmentation_registry();

/// The steps of an `augment:` section (a list), in order.
using Augmentations = std::vector<std::shared_ptr<Augmentation>>;
Augmentations make_augmentations(const ConfigNode& section);

}  // namespace kith
