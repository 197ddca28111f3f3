#include "kith/image/blur.h"

#include <utility>

#include "kith/data/augmentations.h"
#include "kith/data/range_option.h"

namespace kith {

void RandomBlurOptions::describe(OptionSet& set) {
  set.add("p", p, "How likely a picture is changed.").range(0, 1);
  set.add("sigma", sigma, "Least and most deviation, in pixels.").positive();
}

RandomBlurAugmentation::RandomBlurAugmentation(Options options)
    : options_(checked(std::move(options), "gaussian_blur")),
      sigma_(range_of(options_.sigma, "gaussian_blur", "sigma")) {
  // The work grows with it.
  if (sigma_[1] > 100.0) {
    throw ConfigError("gaussian_blur: 'sigma' must be at most 100");
  }
}

Image RandomBlurAugmentation::apply(const Image& image, Rng& rng) const {
  if (rng.uniform() >= options_.p) return image;
  return gaussian_blur(image, rng.uniform(sigma_[0], sigma_[1]));
}

KITH_REGISTER(augmentation_registry(), "gaussian_blur", RandomBlurAugmentation);

}  // namespace kith
