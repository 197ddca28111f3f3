#include <utility>

#include "kith/data/augmentations.h"
#include "kith/data/range_option.h"
#include "kith/image/crop.h"
#include "kith/image/resize.h"

namespace kith {

void MultiCropOptions::describe(OptionSet& set) {
  set.add("size", size, "Width and height of the result.").range(1, 4096);
  set.add("local", local, "How likely the part is a small one.").range(0, 1);
  set.add("local_scale", local_scale,
          "Least and most share of the area of a small part.")
      .positive();
  set.add("global_scale", global_scale,
          "Least and most share of the area of a large part.")
      .positive();
  set.add("ratio", ratio, "Least and most width / height.").positive();
  set.add("filter", filter, "How the part is resized.")
      .choices({"bilinear", "bicubic"});
}

MultiCropAugmentation::MultiCropAugmentation(Options options)
    : options_(checked(std::move(options), "multi_crop")),
      local_{range_of(options_.local_scale, "multi_crop", "local_scale"),
             range_of(options_.ratio, "multi_crop", "ratio")},
      global_{range_of(options_.global_scale, "multi_crop", "global_scale"),
              local_.ratio} {}

Image MultiCropAugmentation::apply(const Image& image, Rng& rng) const {
  const bool is_local = rng.uniform() < options_.local;
  const Box box =
      random_box(image.width, image.height, is_local ? local_ : global_, rng);
  const auto size = static_cast<int>(options_.size);
  return resize_box(image, box, size, size, filter_named(options_.filter));
}

KITH_REGISTER(augmentation_registry(), "multi_crop", MultiCropAugmentation);

}  // namespace kith
