#include "kith/eval/descriptor.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kith/core/error.h"
#include "kith/image/colour.h"

namespace kith {
namespace {

int64_t scaled(int64_t side, double scale, int64_t patch) {
  const double length = static_cast<double>(side) * scale;
  if (patch > 1) {
    const double patches = std::round(length / static_cast<double>(patch));
    return std::max<int64_t>(1, static_cast<int64_t>(patches)) * patch;
  }
  return std::max<int64_t>(kShortestSide,
                           static_cast<int64_t>(std::floor(length)));
}

/// A side that stays as it is may be shorter than kShortestSide: the model was
/// made for it.
InputOptions scaled(InputOptions input, double scale) {
  if (scale == 1.0) return input;
  input.size = scaled(input.size, scale, input.patch);
  if (input.resize != 0) {
    input.resize = scaled(input.resize, scale, input.patch);
  }
  return input;
}

Image resize_whole(const Image& image, const InputOptions& input,
                   int64_t long_side, double scale) {
  const Size full =
      size_within({image.width, image.height}, static_cast<int>(long_side));
  return resize(image, static_cast<int>(scaled(full.width, scale, input.patch)),
                static_cast<int>(scaled(full.height, scale, input.patch)),
                filter_named(input.filter));
}

Image make_picture(const Image& image, const InputOptions& input,
                   int64_t long_side, double scale) {
  if (long_side != 0) return resize_whole(image, input, long_side, scale);
  if (input.any_shape()) {
    const Size size =
        size_of_any_shape({image.width, image.height}, input, scale);
    return resize(image, size.width, size.height, filter_named(input.filter));
  }
  const Augmentations none;
  Rng unused(0, Stream::kAugment);
  return prepare_image(image, scaled(input, scale), none, unused);
}

}  // namespace

void DescriptorOptions::describe(OptionSet& set) {
  set.add("scales", scales,
          "An image is embedded at each of these scales and the descriptors "
          "averaged, such as [1, 0.70710678, 0.5].")
      .not_empty()
      .range(0.01, 4);
  set.add("long_side", long_side,
          "Images keep their shape and are shrunk until the long side has "
          "this many pixels; smaller ones stay as they are. 0: all become the "
          "model's input.")
      .range(0, 8192);
  set.add("flip", flip, "Mirror images are averaged in too.");
  set.add("dim", dim,
          "Only the first so many numbers of an embedding, made a unit vector: "
          "for networks that are trained with model.head.nested. 0: all.")
      .range(0, 1 << 20);
}

int64_t DescriptorOptions::dim_of(int64_t whole) const {
  if (dim <= whole) return dim == 0 ? whole : dim;
  throw ConfigError("'eval.dim' is " + std::to_string(dim) +
                    ", but embeddings have " + std::to_string(whole) +
                    " numbers: set it to at most that, or to 0 for all");
}

void DescriptorOptions::check(const Backbone& backbone) const {
  read_options<DescriptorOptions>(write_options(*this), "eval");
  const std::string reason = backbone.fixed_size();
  if (reason.empty()) return;
  const bool other_scale = std::any_of(scales.begin(), scales.end(),
                                       [](double s) { return s != 1.0; });
  if (long_side == 0 && !other_scale) return;
  throw ConfigError(
      std::string(long_side != 0 ? "'eval.long_side'" : "'eval.scales'") +
      " needs a backbone that takes pictures of any size, but this is " +
      reason +
      ": take a convolutional backbone such as resnet50, or leave "
      "'eval.long_side' at 0 and 'eval.scales' at [1]");
}

std::vector<Image> make_pictures(const Image& image, const InputOptions& input,
                                 const DescriptorOptions& options) {
  Image converted;
  const Image* source = &image;
  if (image.channels != input.channels()) {
    converted = to_channels(image, static_cast<int>(input.channels()));
    source = &converted;
  }
  std::vector<Image> pictures;
  for (const double scale : options.scales) {
    pictures.push_back(make_picture(*source, input, options.long_side, scale));
  }
  return pictures;
}

}  // namespace kith
