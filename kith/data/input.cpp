#include "kith/data/input.h"

#include "kith/core/error.h"
#include "kith/data/resize.h"

namespace kith {

void InputOptions::describe(OptionSet& set) {
  set.add("size", size, "Pictures are resized to size x size pixels.")
      .range(8, 4096);
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
}

Image to_channels(const Image& image, int channels) {
  if (image.channels == channels) return image;
  Image result(image.width, image.height, channels);
  const size_t count =
      static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  const uint8_t* in = image.pixels.data();
  uint8_t* out = result.pixels.data();
  if (channels == 3) {
    for (size_t i = 0; i < count; ++i) {
      out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = in[i];
    }
  } else {
    // 0.299 R + 0.587 G + 0.114 B in 16-bit fixed point, rounded (as Pillow).
    for (size_t i = 0; i < count; ++i) {
      out[i] = static_cast<uint8_t>((in[3 * i] * 19595 + in[3 * i + 1] * 38470 +
                                     in[3 * i + 2] * 7471 + 0x8000) >>
                                    16);
    }
  }
  return result;
}

Image prepare_image(const Image& image, const InputOptions& input,
                    const Augmentations& augmentations, Rng& rng) {
  Image result = to_channels(image, static_cast<int>(input.channels()));
  for (const auto& step : augmentations) result = step->apply(result, rng);
  const int size = static_cast<int>(input.size);
  return resize(result, size, size);
}

}  // namespace kith
