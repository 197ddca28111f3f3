#include <string>

#include "kith/data/augment.h"
#include "kith/image/crop.h"

namespace kith {
namespace {

struct RandomCropOptions {
  int64_t size = 224;

  void describe(OptionSet& set) {
    set.add("size", size, "Width and height that remain.").range(1, 4096);
  }
};

class RandomCropAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary = "a random square of a fixed size";
  using Options = RandomCropOptions;

  explicit RandomCropAugmentation(const Options& options)
      : size_(options.size) {}

  Image apply(const Image& image, Rng& rng) const override {
    if (image.width < size_ || image.height < size_) {
      throw DataError(
          "random_crop: a picture of " + std::to_string(image.width) + " x " +
          std::to_string(image.height) + " is smaller than 'size' (" +
          std::to_string(size_) + "); put 'resize' before this step");
    }
    const int64_t top = rng.between(0, image.height - size_);
    const int64_t left = rng.between(0, image.width - size_);
    return crop(image, {left, top, left + size_, top + size_});
  }

 private:
  int64_t size_;
};

}  // namespace

KITH_REGISTER(augmentation_registry(), "random_crop", RandomCropAugmentation);

}  // namespace kith
