#include "kith/data/augmentations.h"
#include "kith/data/range_option.h"
#include "kith/image/crop.h"
#include "kith/image/resize.h"

namespace kith {

void CenterCropOptions::describe(OptionSet& set) {
  set.add("size", size, "Width and height that remain.").range(1, 4096);
}

CenterCropAugmentation::CenterCropAugmentation(Options options)
    : options_(checked(std::move(options), "center_crop")) {}

Image CenterCropAugmentation::apply(const Image& image, Rng&) const {
  const auto size = static_cast<int>(options_.size);
  return crop(image, centre_box(image.width, image.height, size, size));
}

void RandomCropOptions::describe(OptionSet& set) {
  set.add("size", size, "Width and height that remain.").range(1, 4096);
}

RandomCropAugmentation::RandomCropAugmentation(Options options)
    : options_(checked(std::move(options), "random_crop")) {}

Image RandomCropAugmentation::apply(const Image& image, Rng& rng) const {
  const int64_t size = options_.size;
  if (image.width < size || image.height < size) {
    throw DataError("random_crop: a picture of " + std::to_string(image.width) +
                    " x " + std::to_string(image.height) +
                    " is smaller than 'size' (" + std::to_string(size) +
                    "); put 'resize' before this step");
  }
  const int64_t top = rng.between(0, image.height - size);
  const int64_t left = rng.between(0, image.width - size);
  return crop(image, {left, top, left + size, top + size});
}

void RandomResizedCropOptions::describe(OptionSet& set) {
  set.add("size", size, "Width and height of the result.").range(1, 4096);
  set.add("scale", scale, "Least and most share of the area.").positive();
  set.add("ratio", ratio, "Least and most width / height.").positive();
  set.add("filter", filter, "How the part is resized.")
      .choices({"bilinear", "bicubic"});
}

RandomResizedCropAugmentation::RandomResizedCropAugmentation(Options options)
    : options_(checked(std::move(options), "random_resized_crop")),
      range_{range_of(options_.scale, "random_resized_crop", "scale"),
             range_of(options_.ratio, "random_resized_crop", "ratio")} {}

Image RandomResizedCropAugmentation::apply(const Image& image, Rng& rng) const {
  const Box box = random_box(image.width, image.height, range_, rng);
  const auto size = static_cast<int>(options_.size);
  return resize_box(image, box, size, size, filter_named(options_.filter));
}

KITH_REGISTER(augmentation_registry(), "center_crop", CenterCropAugmentation);
KITH_REGISTER(augmentation_registry(), "random_crop", RandomCropAugmentation);
KITH_REGISTER(augmentation_registry(), "random_resized_crop",
              RandomResizedCropAugmentation);

}  // namespace kith
