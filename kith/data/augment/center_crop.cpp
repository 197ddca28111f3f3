#include "kith/data/augment.h"
#include "kith/image/crop.h"

namespace kith {
namespace {

struct CenterCropOptions {
  int64_t size = 224;

  void describe(OptionSet& set) {
    set.add("size", size, "Width and height that remain.").range(1, 4096);
  }
};

class CenterCropAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "the centre; smaller pictures get a black border";
  using Options = CenterCropOptions;

  explicit CenterCropAugmentation(const Options& options)
      : size_(static_cast<int>(options.size)) {}

  Image apply(const Image& image, Rng&) const override {
    return crop(image, centre_box(image.width, image.height, size_, size_));
  }

 private:
  int size_;
};

}  // namespace

KITH_REGISTER(augmentation_registry(), "center_crop", CenterCropAugmentation);

}  // namespace kith
