#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/options.h"
#include "kith/data/input.h"
#include "kith/models/backbone.h"

namespace kith {

/// How an image becomes one descriptor: from which pictures of it. The
/// descriptor is the mean of the pictures' unit embeddings, normalised again,
/// or the first `dim` numbers of that, made a unit vector.
struct DescriptorOptions {
  std::vector<double> scales = {1.0};
  int64_t long_side = 0;
  bool flip = false;
  int64_t dim = 0;

  /// Whether the only picture of an image is the model's own input. Then the
  /// embedding is the network's, which the head may have left unnormalised.
  bool is_plain() const {
    return long_side == 0 && !flip && scales == std::vector<double>{1.0};
  }

  void describe(OptionSet& set);

  /// Throws ConfigError for a value out of range (flags of a program may have
  /// set it), and if pictures would have a size that the backbone does not
  /// take.
  void check(const Backbone& backbone) const;

  /// The dimension of descriptors where embeddings have `whole`. ConfigError if
  /// they have no `dim` numbers.
  int64_t dim_of(int64_t whole) const;
};

/// Sides are not made shorter than this: every backbone of kith that takes
/// pictures of any size takes it.
constexpr int kShortestSide = 8;

/// The pictures of an image without mirror images, one a scale, in the colour
/// of the input. Each is resized from the image's own pixels:
///
/// - long_side 0: prepare_image with size and resize times the scale, or the
///   input's own size_of_any_shape times the scale;
/// - else to size_within(image, long_side) times the scale, nothing cut off.
///
/// Sides times a scale are rounded down, to no less than kShortestSide; for a
/// network of patches to the nearest multiple of these, and those of
/// size_of_any_shape to the nearest of its multiples.
std::vector<Image> make_pictures(const Image& image, const InputOptions& input,
                                 const DescriptorOptions& options);

}  // namespace kith
