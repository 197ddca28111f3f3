#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/data/augment.h"
#include "kith/image/image.h"
#include "kith/image/resize.h"

namespace kith {

/// Colour, mean and standard deviation of the pictures that published weights
/// were trained on: those of ImageNet, unless a backbone says otherwise. The
/// rest is how they are usually used; nothing where that is left open.
struct PretrainedInput {
  std::string colour = "rgb";  ///< Or bgr: the order of the numbers.
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
  int64_t size = 0;          ///< `model.input.size`
  std::string filter = {};   ///< `model.input.filter`
  std::string pooling = {};  ///< `model.head.pooling`
};

/// What a model takes: every picture is brought to this form first. Part of
/// the model (`model.input`), so that embedding and search use the same.
struct InputOptions {
  int64_t size = 64;
  int64_t resize = 0;
  int64_t long_side = 0;
  int64_t multiple = 32;
  std::string filter = "bilinear";
  std::string colour = "auto";    ///< Until settle() knows that of the data.
  std::vector<double> mean = {};  ///< Empty: the usual one of the colour.
  std::vector<double> std = {};
  /// Sides must be multiples of this for the network; no option: EmbeddingNet
  /// sets it.
  int64_t patch = 1;

  /// Fills in what the user left open. `found` is the colour of the data, grey
  /// or rgb, or auto if it is not known yet; then colour, mean and std stay as
  /// they are. `pretrained` is the input of the weights that training starts
  /// from, null without: then mean and std are 0.5.
  void settle(const std::string& found, const PretrainedInput* pretrained);

  int64_t channels() const { return colour == "grey" ? 1 : 3; }

  /// Whether pictures keep their shape, so that their sizes differ.
  bool any_shape() const { return long_side > 0; }

  /// Of the largest picture.
  int64_t largest_side() const { return any_shape() ? long_side : size; }
  int64_t most_pixels() const { return largest_side() * largest_side(); }

  /// How many pictures of a size have no more pixels than `count` of the
  /// largest ones; at least one. The network needs memory by pixels.
  int64_t as_many(int64_t count, int64_t height, int64_t width) const;

  void describe(OptionSet& set);

  /// Throws ConfigError if mean or std do not fit the channels, `resize` does
  /// not fit the size, or `multiple` not `long_side`.
  void check() const;
};

/// The largest size with this aspect ratio in a square of `side` pixels; the
/// size itself if it fits. The shorter side is the whole number, at least 1,
/// that keeps the ratio of the sides best: sizes are those of Pillow's
/// Image.thumbnail.
Size size_within(const Size& size, int side);

/// The size that a picture has with `long_side`: size_within(size, long_side)
/// times `scale`, with both sides rounded to the nearest multiple of `multiple`
/// above 0.
Size size_of_any_shape(const Size& size, const InputOptions& input,
                       double scale = 1.0);

/// How prepare_image() makes a picture of this size size x size pixels where
/// nothing is augmented: resized to `full`, of which the window is cut out. Not
/// with `long_side`.
struct InputFit {
  Size full;
  Box window;
};
InputFit fit_of(const Size& size, const InputOptions& input);

/// Converts to grey or RGB (with colour auto pictures stay as they are),
/// augments (training only; pass an empty list
/// otherwise) and, unless that gave size x size pixels, goes on as for testing:
/// the short side is resized to `resize` and the centre cut out, or, if
/// `resize` is 0, the picture is resized to size x size whatever its shape.
/// With `long_side` it is resized to size_of_any_shape() instead.
Image prepare_image(const Image& image, const InputOptions& input,
                    const Augmentations& augmentations, Rng& rng);

}  // namespace kith
