#include <cmath>
#include <numbers>
#include <utility>

#include "kith/data/augmentations.h"
#include "kith/image/affine.h"
#include "kith/image/colour.h"
#include "kith/image/tone.h"

namespace kith {
namespace {

/// Moves a picture about its centre by an inverse map's linear part and shift.
Image moved(const Image& image, Affine map) {
  const double x = image.width / 2.0;
  const double y = image.height / 2.0;
  map.c += x - map.a * x - map.b * y;
  map.f += y - map.d * x - map.e * y;
  return warp_affine(image, map, border_grey(image));
}

Image turned(const Image& image, double degrees) {
  const double angle = degrees * std::numbers::pi / 180.0;
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  return moved(image, {cosine, sine, 0, -sine, cosine, 0});
}

template <class Change>
Image with(const Image& image, const Change& change) {
  Image result = image;
  change(result);
  return result;
}

/// An operation of RandAugment. `level` is the magnitude in [0, 1], `sign` +1
/// or -1.
using RandOperation = Image (*)(const Image& image, double level, double sign);

constexpr double kMostShear = 0.3;
constexpr double kMostShift = 150.0 / 331.0;
constexpr double kMostFactor = 0.9;

/// In the order of the paper's list. Part of what a seed means: never change.
constexpr RandOperation kRandOperations[] = {
    // identity
    [](const Image& image, double, double) { return image; },
    [](const Image& image, double, double) {
      return with(image, auto_contrast);
    },
    [](const Image& image, double, double) { return with(image, equalize); },
    [](const Image& image, double level, double sign) {
      return turned(image, sign * 30.0 * level);
    },
    [](const Image& image, double level, double) {
      const auto threshold = static_cast<int>(std::lround(256 * (1 - level)));
      return with(image, [&](Image& made) { solarize(made, threshold); });
    },
    [](const Image& image, double level, double sign) {
      const double factor = 1 + sign * kMostFactor * level;
      return with(image, [&](Image& made) { adjust_saturation(made, factor); });
    },
    [](const Image& image, double level, double) {
      const int bits = 8 - static_cast<int>(std::lround(4 * level));
      return with(image, [&](Image& made) { posterize(made, bits); });
    },
    [](const Image& image, double level, double sign) {
      const double factor = 1 + sign * kMostFactor * level;
      return with(image, [&](Image& made) { adjust_contrast(made, factor); });
    },
    [](const Image& image, double level, double sign) {
      const double factor = 1 + sign * kMostFactor * level;
      return with(image, [&](Image& made) { adjust_brightness(made, factor); });
    },
    [](const Image& image, double level, double sign) {
      const double factor = 1 + sign * kMostFactor * level;
      return with(image, [&](Image& made) { adjust_sharpness(made, factor); });
    },
    [](const Image& image, double level, double sign) {
      return moved(image, {1, sign * kMostShear * level, 0, 0, 1, 0});
    },
    [](const Image& image, double level, double sign) {
      return moved(image, {1, 0, 0, sign * kMostShear * level, 1, 0});
    },
    [](const Image& image, double level, double sign) {
      return moved(image,
                   {1, 0, sign * kMostShift * level * image.width, 0, 1, 0});
    },
    [](const Image& image, double level, double sign) {
      return moved(image,
                   {1, 0, 0, 0, 1, sign * kMostShift * level * image.height});
    },
};

}  // namespace

void RandAugmentOptions::describe(OptionSet& set) {
  set.add("operations", operations, "How many are made, one after another.")
      .range(0, 100);
  set.add("magnitude", magnitude, "How strong they are.").range(0, 30);
}

RandAugmentAugmentation::RandAugmentAugmentation(Options options)
    : options_(checked(std::move(options), "rand_augment")) {}

Image RandAugmentAugmentation::apply(const Image& image, Rng& rng) const {
  Image result = image;
  for (int64_t i = 0; i < options_.operations; ++i) {
    const RandOperation operation =
        kRandOperations[rng.below(std::size(kRandOperations))];
    const double sign = rng.below(2) == 0 ? 1.0 : -1.0;
    result = operation(result, options_.magnitude / 30.0, sign);
  }
  return result;
}

KITH_REGISTER(augmentation_registry(), "rand_augment", RandAugmentAugmentation);

}  // namespace kith
