#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/samplers/sampler.h"

namespace kith {

/// What the batches of an epoch make of the training images.
struct EpochUse {
  int64_t batches = 0;
  int64_t images = 0;    ///< Of the training data.
  int64_t used = 0;      ///< Of them, in a batch.
  int64_t repeated = 0;  ///< Of these, in more than one place.
  int64_t most = 0;      ///< Places of the image that has most.
  int64_t classes = 0;   ///< Of the training data.
  int64_t absent = 0;    ///< Of them, without an image in a batch.
};

EpochUse epoch_use(const std::vector<std::vector<int64_t>>& plan,
                   const SamplerInput& input);

/// One line for the log: how many images and classes the first epoch leaves
/// out, and how many images it repeats. Empty if every image comes once.
std::string describe_use(const EpochUse& use);

}  // namespace kith
