#include <algorithm>
#include <vector>

#include "kith/data/augmentations.h"
#include "kith/image/colour.h"

namespace kith {

void ColourJitterOptions::describe(OptionSet& set) {
  set.add("brightness", brightness, "Factor up to 1 +- this.").range(0, 10);
  set.add("contrast", contrast, "Factor up to 1 +- this.").range(0, 10);
  set.add("saturation", saturation, "Factor up to 1 +- this.").range(0, 10);
  set.add("hue", hue, "Turns of the colour circle up to +- this.")
      .range(0, 0.5);
  set.add("p", p, "How likely a picture is changed.").range(0, 1);
}

ColourJitterAugmentation::ColourJitterAugmentation(Options options)
    : options_(checked(std::move(options), "colour_jitter")) {}

Image ColourJitterAugmentation::apply(const Image& image, Rng& rng) const {
  // At 1 without a draw: pictures of the time before this option stay.
  if (options_.p < 1.0 && rng.uniform() >= options_.p) return image;
  struct Change {
    void (*make)(Image&, double);
    double amount;
  };
  std::vector<Change> changes;
  const auto add = [&](void (*make)(Image&, double), double range) {
    if (range == 0.0) return;
    const double low = std::max(0.0, 1.0 - range);
    changes.push_back({make, rng.uniform(low, 1.0 + range)});
  };
  add(adjust_brightness, options_.brightness);
  add(adjust_contrast, options_.contrast);
  add(adjust_saturation, options_.saturation);
  if (options_.hue != 0.0) {
    changes.push_back({adjust_hue, rng.uniform(-options_.hue, options_.hue)});
  }
  rng.shuffle(changes);
  Image result = image;
  for (const Change& change : changes) change.make(result, change.amount);
  return result;
}

void GreyOptions::describe(OptionSet& set) {
  set.add("p", p, "How likely a picture is changed.").range(0, 1);
}

GreyAugmentation::GreyAugmentation(Options options)
    : options_(checked(std::move(options), "grey")) {}

Image GreyAugmentation::apply(const Image& image, Rng& rng) const {
  if (rng.uniform() >= options_.p) return image;
  return to_channels(to_channels(image, 1), image.channels);
}

KITH_REGISTER(augmentation_registry(), "colour_jitter",
              ColourJitterAugmentation);
KITH_REGISTER(augmentation_registry(), "grey", GreyAugmentation);

}  // namespace kith
