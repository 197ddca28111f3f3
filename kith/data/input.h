#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/options.h"
#include "kith/data/augment.h"
#include "kith/data/image.h"

namespace kith {

/// What a model takes: every picture is brought to this form first. Part of
/// the model (`model.input`), so that embedding and search use the same.
struct InputOptions {
  int64_t size = 64;
  std::string colour = "grey";
  std::vector<double> mean = {0.5};
  std::vector<double> std = {0.5};

  int64_t channels() const { return colour == "grey" ? 1 : 3; }

  void describe(OptionSet& set);

  /// Throws ConfigError if mean or std do not fit the channels.
  void check() const;
};

/// Converts to grey or RGB, augments (training only; pass an empty list
/// otherwise) and resizes to size x size.
Image prepare_image(const Image& image, const InputOptions& input,
                    const Augmentations& augmentations, Rng& rng);

/// Grey by the ITU-R 601 weights, RGB by repetition.
Image to_channels(const Image& image, int channels);

}  // namespace kith
