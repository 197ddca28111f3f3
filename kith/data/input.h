#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/data/augment.h"
#include "kith/data/colour.h"
#include "kith/data/image.h"

namespace kith {

/// What a model takes: every picture is brought to this form first. Part of
/// the model (`model.input`), so that embedding and search use the same.
struct InputOptions {
  int64_t size = 64;
  int64_t resize = 0;
  std::string filter = "bilinear";
  std::string colour = "grey";
  std::vector<double> mean = {0.5};
  std::vector<double> std = {0.5};

  int64_t channels() const { return colour == "grey" ? 1 : 3; }

  void describe(OptionSet& set);

  /// Throws ConfigError if mean or std do not fit the channels, or `resize`
  /// does not fit the size.
  void check() const;
};

/// Converts to grey or RGB, augments (training only; pass an empty list
/// otherwise) and, unless that gave size x size pixels, goes on as for testing:
/// the short side is resized to `resize` and the centre cut out, or, if
/// `resize` is 0, the picture is resized to size x size whatever its shape.
Image prepare_image(const Image& image, const InputOptions& input,
                    const Augmentations& augmentations, Rng& rng);

}  // namespace kith
