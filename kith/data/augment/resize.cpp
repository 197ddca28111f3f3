#include "kith/image/resize.h"

#include "kith/data/augment.h"

namespace kith {
namespace {

struct ResizeOptions {
  int64_t size = 256;
  std::string filter = "bilinear";

  void describe(OptionSet& set) {
    set.add("size", size, "Length of the short side.").range(1, 8192);
    set.add("filter", filter, "How the picture is resized.")
        .choices({"bilinear", "bicubic"});
  }
};

class ResizeAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "the same shape at another size; not random";
  using Options = ResizeOptions;

  explicit ResizeAugmentation(const Options& options)
      : side_(static_cast<int>(options.size)),
        filter_(filter_named(options.filter)) {}

  Image apply(const Image& image, Rng&) const override {
    const Size size = size_with_short_side(image, side_);
    return resize(image, size.width, size.height, filter_);
  }

 private:
  int side_;
  Filter filter_;
};

}  // namespace

KITH_REGISTER(augmentation_registry(), "resize", ResizeAugmentation);

}  // namespace kith
