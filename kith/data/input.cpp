#include "kith/data/input.h"

#include <utility>

#include "kith/core/error.h"
#include "kith/data/resize.h"

namespace kith {
namespace {

Image fit(const Image& image, const InputOptions& input) {
  const int size = static_cast<int>(input.size);
  const Filter filter = filter_named(input.filter);
  if (input.resize == 0) return resize(image, size, size, filter);
  const Size full = size_with_short_side(image, static_cast<int>(input.resize));
  return resize_window(image, full.width, full.height,
                       centre_box(full.width, full.height, size, size), filter);
}

}  // namespace

void InputOptions::describe(OptionSet& set) {
  set.add("size", size, "Pictures become size x size pixels.").range(1, 4096);
  set.add("resize", resize,
          "For testing, the short side is resized to this and the centre cut "
          "out; 0: resized to size x size, whatever the shape.")
      .range(0, 8192);
  set.add("filter", filter, "How pictures are resized.")
      .choices({"bilinear", "bicubic"});
  set.add("colour", colour, "Colour of the input.").choices({"grey", "rgb"});
  set.add("mean", mean, "Subtracted from values in [0, 1], one a channel.");
  set.add("std", std, "Divides after the subtraction, one a channel.")
      .positive();
}

void InputOptions::check() const {
  for (const auto* values : {&mean, &std}) {
    if (static_cast<int64_t>(values->size()) != channels()) {
      throw ConfigError(
          "'model.input." + std::string(values == &mean ? "mean" : "std") +
          "' needs " + std::to_string(channels()) + " values for colour '" +
          colour + "', got " + std::to_string(values->size()));
    }
  }
  if (resize != 0 && resize < size) {
    throw ConfigError(
        "'model.input.resize' must be 0 or at least "
        "'model.input.size' (" +
        std::to_string(size) + "), got " + std::to_string(resize));
  }
}

Image prepare_image(const Image& image, const InputOptions& input,
                    const Augmentations& augmentations, Rng& rng) {
  Image changed;
  const Image* current = &image;
  const auto advance = [&](Image next) {
    changed = std::move(next);
    current = &changed;
  };
  if (image.channels != input.channels()) {
    advance(to_channels(image, static_cast<int>(input.channels())));
  }
  for (const auto& step : augmentations) advance(step->apply(*current, rng));
  if (!augmentations.empty() && changed.width == input.size &&
      changed.height == input.size) {
    return changed;
  }
  return fit(*current, input);
}

}  // namespace kith
