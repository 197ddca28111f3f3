#pragma once

#include <cstdint>
#include <string>

#include "kith/core/registry.h"
#include "kith/core/rng.h"
#include "kith/image/image.h"

namespace kith {

/// A random damage to a picture, to measure how robust a trained model is. The
/// picture, grey or RGB and of any size from 1 x 1, keeps its size and its
/// channels. A corruption is stateless: all its randomness comes from the
/// generator it is given.
///
/// The nine corruptions and their default ranges are those of Lim et al.,
/// Hypergraph-Induced Semantic Tuplet Loss, CVPR 2022, supplement A.3, who made
/// them with the library imgaug.
class Corruption {
 public:
  virtual ~Corruption() = default;
  virtual Image apply(const Image& image, Rng& rng) const = 0;
};

using CorruptionRegistry = Registry<Corruption>;
CorruptionRegistry& corruption_registry();

/// The image damaged with its own draw, keyed by the seed, the corruption's
/// name and the index of the image: the same in any order of use, and
/// unrelated between images and between corruptions. DataError if the image
/// is empty.
Image corrupt(const Corruption& corruption, const std::string& name,
              const Image& image, uint64_t seed, int64_t image_index);

}  // namespace kith
