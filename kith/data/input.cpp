#include "kith/data/input.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kith/core/error.h"
#include "kith/image/colour.h"

namespace kith {
namespace {

Image fit(const Image& image, const InputOptions& input) {
  const Filter filter = filter_named(input.filter);
  if (input.any_shape()) {
    const Size to = size_of_any_shape({image.width, image.height}, input);
    return resize(image, to.width, to.height, filter);
  }
  const InputFit to = fit_of({image.width, image.height}, input);
  return resize_window(image, to.full.width, to.full.height, to.window, filter);
}

/// The multiple of `step`, but 0, that is nearest to a length.
int nearest_multiple(double length, int64_t step) {
  const double times = std::round(length / static_cast<double>(step));
  return static_cast<int>(std::max(times, 1.0) * static_cast<double>(step));
}

/// Mean or std of pictures of this colour by that of the weights' pictures: a
/// grey picture has the mean of the channels.
std::vector<double> of_colour(const std::string& colour,
                              const PretrainedInput& pretrained,
                              std::vector<double> values) {
  if (colour == "grey") {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return {sum / static_cast<double>(values.size())};
  }
  if (colour != pretrained.colour) std::reverse(values.begin(), values.end());
  return values;
}

}  // namespace

void InputOptions::settle(const std::string& found,
                          const PretrainedInput* pretrained) {
  if (colour == "auto") {
    colour = found == "rgb" && pretrained ? pretrained->colour : found;
  }
  if (colour == "auto") return;
  const std::vector<double> half(static_cast<size_t>(channels()), 0.5);
  if (mean.empty()) {
    mean = pretrained ? of_colour(colour, *pretrained, pretrained->mean) : half;
  }
  if (std.empty()) {
    std = pretrained ? of_colour(colour, *pretrained, pretrained->std) : half;
  }
}

int64_t InputOptions::as_many(int64_t count, int64_t height,
                              int64_t width) const {
  constexpr int64_t kMost = int64_t{1} << 32;  // times pixels: no overflow
  const int64_t pixels = std::min(count, kMost) * most_pixels();
  return std::max<int64_t>(1, pixels / (height * width));
}

void InputOptions::describe(OptionSet& set) {
  set.add("size", size, "Pictures become size x size pixels.").range(1, 4096);
  set.add("resize", resize,
          "For testing, the short side is resized to this and the centre cut "
          "out; 0: resized to size x size, whatever the shape.")
      .range(0, 8192);
  set.add("long_side", long_side,
          "Pictures keep their shape: they are shrunk until the long side has "
          "this many pixels, and smaller ones stay as they are. 0: all become "
          "size x size.")
      .range(0, 8192);
  set.add("multiple", multiple,
          "With long_side, both sides are rounded to a multiple of this: more "
          "pictures have the same size and go through the network together.")
      .range(1, 8192);
  set.add("filter", filter, "How pictures are resized.")
      .choices({"bilinear", "bicubic"});
  set.add("colour", colour,
          "Colour of the input; auto: that of the pictures. bgr has the "
          "channels in the order of Caffe.")
      .choices({"auto", "grey", "rgb", "bgr"});
  set.add(
      "mean", mean,
      "Subtracted from values in [0, 1], one per channel. None: 0.5, or what "
      "the weights were trained with.");
  set.add("std", std,
          "Divides after the subtraction, one per channel; as mean.")
      .positive();
}

void InputOptions::check() const {
  for (const auto* values : {&mean, &std}) {
    if (colour != "auto" &&
        static_cast<int64_t>(values->size()) != channels()) {
      throw ConfigError(
          "'model.input." + std::string(values == &mean ? "mean" : "std") +
          "' needs " + std::to_string(channels()) + " values for colour '" +
          colour + "', got " + std::to_string(values->size()) +
          "; leave it out for the usual ones, or set 'model.input.colour'");
    }
  }
  if (resize != 0 && resize < size) {
    throw ConfigError(
        "'model.input.resize' must be 0 or at least "
        "'model.input.size' (" +
        std::to_string(size) + "), got " + std::to_string(resize));
  }
  if (any_shape() && resize != 0) {
    throw ConfigError(
        "'model.input.resize' cuts out a square, and 'model.input.long_side' "
        "keeps the shape: set one of them to 0");
  }
  if (any_shape() && long_side % multiple != 0) {
    throw ConfigError(
        "'model.input.long_side' must be a multiple of "
        "'model.input.multiple' (" +
        std::to_string(multiple) + "), got " + std::to_string(long_side));
  }
}

Size size_within(const Size& size, int side) {
  if (std::max(size.width, size.height) <= side) return size;
  const bool is_wide = size.width >= size.height;
  const double ratio =
      static_cast<double>(size.width) / static_cast<double>(size.height);
  const double exact = is_wide ? side / ratio : side * ratio;
  const auto error = [&](int other) {
    return std::abs(ratio - (is_wide ? static_cast<double>(side) / other
                                     : static_cast<double>(other) / side));
  };
  const int below = static_cast<int>(std::floor(exact));
  const int above = static_cast<int>(std::ceil(exact));
  const int other =
      below < 1 ? 1 : (error(below) <= error(above) ? below : above);
  return is_wide ? Size{side, other} : Size{other, side};
}

Size size_of_any_shape(const Size& size, const InputOptions& input,
                       double scale) {
  const Size full = size_within(size, static_cast<int>(input.long_side));
  return {nearest_multiple(full.width * scale, input.multiple),
          nearest_multiple(full.height * scale, input.multiple)};
}

InputFit fit_of(const Size& size, const InputOptions& input) {
  KITH_ASSERT(!input.any_shape());
  const int side = static_cast<int>(input.size);
  if (input.resize == 0) return {{side, side}, {0, 0, side, side}};
  const Size full = size_with_short_side(size, static_cast<int>(input.resize));
  return {full, centre_box(full.width, full.height, side, side)};
}

Image prepare_image(const Image& image, const InputOptions& input,
                    const Augmentations& augmentations, Rng& rng) {
  Image changed;
  const Image* current = &image;
  const auto advance = [&](Image next) {
    changed = std::move(next);
    current = &changed;
  };
  if (input.colour != "auto" && image.channels != input.channels()) {
    advance(to_channels(image, static_cast<int>(input.channels())));
  }
  for (const auto& step : augmentations) advance(step->apply(*current, rng));
  if (!augmentations.empty() && !input.any_shape() &&
      changed.width == input.size && changed.height == input.size) {
    return changed;
  }
  return fit(*current, input);
}

}  // namespace kith
