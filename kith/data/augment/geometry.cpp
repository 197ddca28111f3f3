#include <algorithm>
#include <cstddef>

#include "kith/data/augmentations.h"
#include "kith/image/affine.h"
#include "kith/image/resize.h"

namespace kith {

void AffineOptions::describe(OptionSet& set) {
  set.add("degrees", degrees, "Rotation up to this angle, either way.")
      .range(0, 180);
  set.add("scale", scale, "Size changes up to this share.").range(0, 0.9);
  set.add("shear", shear, "Slant up to this angle, either way.").range(0, 60);
  set.add("translate", translate, "Shift up to this share of width and height.")
      .range(0, 1);
}

AffineAugmentation::AffineAugmentation(Options options)
    : options_(checked(std::move(options), "affine")) {}

Image AffineAugmentation::apply(const Image& image, Rng& rng) const {
  const AffineRange range = {options_.degrees, options_.scale, options_.shear,
                             options_.translate};
  const Affine map = random_affine(rng, range, image.width, image.height);
  return warp_affine(image, map, border_grey(image));
}

void FlipOptions::describe(OptionSet& set) {
  set.add("p", p, "How likely a picture is changed.").range(0, 1);
}

FlipAugmentation::FlipAugmentation(Options options)
    : options_(checked(std::move(options), "flip")) {}

Image FlipAugmentation::apply(const Image& image, Rng& rng) const {
  Image result = image;
  if (rng.uniform() >= options_.p) return result;
  const auto row_bytes = std::ptrdiff_t{image.width} * image.channels;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* from = image.row(y);
    uint8_t* to = result.row(y) + row_bytes;
    for (int x = 0; x < image.width; ++x, from += image.channels) {
      to -= image.channels;
      std::copy_n(from, image.channels, to);
    }
  }
  return result;
}

void ResizeOptions::describe(OptionSet& set) {
  set.add("size", size, "Length of the short side.").range(1, 8192);
  set.add("filter", filter, "How the picture is resized.")
      .choices({"bilinear", "bicubic"});
}

ResizeAugmentation::ResizeAugmentation(Options options)
    : options_(checked(std::move(options), "resize")) {}

Image ResizeAugmentation::apply(const Image& image, Rng&) const {
  const Size size =
      size_with_short_side(image, static_cast<int>(options_.size));
  return resize(image, size.width, size.height, filter_named(options_.filter));
}

KITH_REGISTER(augmentation_registry(), "affine", AffineAugmentation);
KITH_REGISTER(augmentation_registry(), "flip", FlipAugmentation);
KITH_REGISTER(augmentation_registry(), "resize", ResizeAugmentation);

}  // namespace kith
