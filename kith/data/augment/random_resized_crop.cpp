#include <array>
#include <string>
#include <vector>

#include "kith/data/augment.h"
#include "kith/image/resize.h"

namespace kith {
namespace {

struct RandomResizedCropOptions {
  int64_t size = 224;
  std::vector<double> scale = {0.08, 1.0};
  std::vector<double> ratio = {3.0 / 4.0, 4.0 / 3.0};
  std::string filter = "bilinear";

  void describe(OptionSet& set) {
    set.add("size", size, "Width and height of the result.").range(1, 4096);
    set.add("scale", scale, "Least and most share of the area.").positive();
    set.add("ratio", ratio, "Least and most width / height.").positive();
    set.add("filter", filter, "How the part is resized.")
        .choices({"bilinear", "bicubic"});
  }
};

std::array<double, 2> pair_of(const std::vector<double>& values,
                              const std::string& name) {
  if (values.size() != 2 || values[0] > values[1]) {
    throw ConfigError("random_resized_crop: '" + name +
                      "' needs two values, the lesser one first");
  }
  return {values[0], values[1]};
}

class RandomResizedCropAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "a random part, resized to a fixed size";
  using Options = RandomResizedCropOptions;

  explicit RandomResizedCropAugmentation(const Options& options)
      : size_(static_cast<int>(options.size)),
        range_{pair_of(options.scale, "scale"),
               pair_of(options.ratio, "ratio")},
        filter_(filter_named(options.filter)) {}

  Image apply(const Image& image, Rng& rng) const override {
    const Box box = random_box(image.width, image.height, range_, rng);
    return resize_box(image, box, size_, size_, filter_);
  }

 private:
  int size_;
  RandomBoxRange range_;
  Filter filter_;
};

}  // namespace

KITH_REGISTER(augmentation_registry(), "random_resized_crop",
              RandomResizedCropAugmentation);

}  // namespace kith
