#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "kith/data/augmentations.h"
#include "kith/data/range_option.h"
#include "kith/image/crop.h"

namespace kith {
namespace {

/// Empty if none of a hundred tries fits in the picture.
Box box_to_erase(const Image& image, const std::array<double, 2>& scale,
                 const std::array<double, 2>& ratio, Rng& rng) {
  const double area = static_cast<double>(image.width) * image.height;
  for (int tries = 0; tries < 100; ++tries) {
    const double share = rng.uniform(scale[0], scale[1]) * area;
    const double shape = rng.uniform(ratio[0], ratio[1]);
    const auto height =
        static_cast<int64_t>(std::lround(std::sqrt(share * shape)));
    const auto width =
        static_cast<int64_t>(std::lround(std::sqrt(share / shape)));
    const int64_t left = rng.between(0, image.width - 1);
    const int64_t top = rng.between(0, image.height - 1);
    const Box box = {left, top, left + width, top + height};
    if (!box.empty() && box.right <= image.width &&
        box.bottom <= image.height) {
      return box;
    }
  }
  return {};
}

/// The mean of each channel, rounded.
std::vector<uint8_t> mean_colour(const Image& image) {
  const auto channels = static_cast<size_t>(image.channels);
  std::vector<uint64_t> sums(channels, 0);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    sums[i % channels] += image.pixels[i];
  }
  const uint64_t count = image.pixels.size() / channels;
  std::vector<uint8_t> mean;
  for (const uint64_t sum : sums) {
    mean.push_back(static_cast<uint8_t>((2 * sum + count) / (2 * count)));
  }
  return mean;
}

}  // namespace

void RandomErasingOptions::describe(OptionSet& set) {
  set.add("p", p, "How likely a picture is changed.").range(0, 1);
  set.add("scale", scale, "Least and most share of the area.").positive();
  set.add("ratio", ratio, "Least and most height / width.").positive();
  set.add("fill", fill,
          "What covers it: random values, the picture's mean colour, or black.")
      .choices({"random", "mean", "black"});
}

RandomErasingAugmentation::RandomErasingAugmentation(Options options)
    : options_(checked(std::move(options), "random_erasing")),
      scale_(range_of(options_.scale, "random_erasing", "scale")),
      ratio_(range_of(options_.ratio, "random_erasing", "ratio")) {
  if (scale_[1] > 1.0) {
    throw ConfigError("random_erasing: 'scale' must be at most 1");
  }
}

Image RandomErasingAugmentation::apply(const Image& image, Rng& rng) const {
  if (rng.uniform() >= options_.p) return image;
  const Box box = box_to_erase(image, scale_, ratio_, rng);
  if (box.empty()) return image;
  Image result = image;
  const std::vector<uint8_t> colour =
      options_.fill == "mean"
          ? mean_colour(image)
          : std::vector<uint8_t>(static_cast<size_t>(image.channels), 0);
  const bool is_random = options_.fill == "random";
  for (int64_t y = box.top; y < box.bottom; ++y) {
    uint8_t* out = result.row(static_cast<int>(y)) + box.left * image.channels;
    for (int64_t x = box.left; x < box.right; ++x) {
      for (const uint8_t value : colour) {
        *out++ = is_random ? static_cast<uint8_t>(rng.below(256)) : value;
      }
    }
  }
  return result;
}

KITH_REGISTER(augmentation_registry(), "random_erasing",
              RandomErasingAugmentation);

}  // namespace kith
