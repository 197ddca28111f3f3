#include <algorithm>

#include "kith/data/corruptions.h"

namespace kith {

void GaussianNoiseOptions::describe(OptionSet& set) {
  set.add("max_deviation", max_deviation,
          "The deviation is uniform from 0 to this, in grey levels.")
      .range(0, 255);
}

GaussianNoiseCorruption::GaussianNoiseCorruption(Options options)
    : options_(checked(std::move(options), "gaussian_noise")) {}

Image GaussianNoiseCorruption::apply(const Image& image, Rng& rng) const {
  const double deviation = rng.uniform(0.0, options_.max_deviation);
  Image result = image;
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < result.pixels.size(); i += channels) {
    const double noise = deviation * rng.normal();
    for (size_t c = i; c < i + channels; ++c) {
      const double noisy = result.pixels[c] + noise;
      result.pixels[c] =
          static_cast<uint8_t>(std::clamp(noisy, 0.0, 255.0) + 0.5);
    }
  }
  return result;
}

void SaltAndPepperOptions::describe(OptionSet& set) {
  set.add("share", share, "The probability that a pixel is replaced.")
      .range(0, 1);
}

SaltAndPepperCorruption::SaltAndPepperCorruption(Options options)
    : options_(checked(std::move(options), "salt_and_pepper")) {}

Image SaltAndPepperCorruption::apply(const Image& image, Rng& rng) const {
  Image result = image;
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < result.pixels.size(); i += channels) {
    if (rng.uniform() >= options_.share) continue;
    const uint8_t value = rng.below(2) == 0 ? 0 : 255;
    std::fill_n(result.pixels.data() + i, channels, value);
  }
  return result;
}

void UniformNoiseOptions::describe(OptionSet& set) {
  set.add("max_shift", max_shift,
          "The value is from minus this to this, in grey levels.")
      .range(0, 255);
}

UniformNoiseCorruption::UniformNoiseCorruption(Options options)
    : options_(checked(std::move(options), "uniform_noise")) {}

Image UniformNoiseCorruption::apply(const Image& image, Rng& rng) const {
  const auto shift =
      static_cast<int>(rng.between(-options_.max_shift, options_.max_shift));
  Image result = image;
  for (uint8_t& pixel : result.pixels) {
    pixel = static_cast<uint8_t>(std::clamp(pixel + shift, 0, 255));
  }
  return result;
}

KITH_REGISTER(corruption_registry(), "gaussian_noise", GaussianNoiseCorruption);
KITH_REGISTER(corruption_registry(), "salt_and_pepper",
              SaltAndPepperCorruption);
KITH_REGISTER(corruption_registry(), "uniform_noise", UniformNoiseCorruption);

}  // namespace kith
