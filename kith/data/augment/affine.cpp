#include "kith/image/affine.h"

#include "kith/data/augment.h"

namespace kith {
namespace {

struct AffineOptions {
  AffineRange range{10.0, 0.1, 0.0, 0.05};

  void describe(OptionSet& set) {
    set.add("degrees", range.degrees, "Rotation up to this angle, either way.")
        .range(0, 180);
    set.add("scale", range.scale, "Size changes up to this share.")
        .range(0, 0.9);
    set.add("shear", range.shear, "Slant up to this angle, either way.")
        .range(0, 60);
    set.add("translate", range.translate,
            "Shift up to this share of width and height.")
        .range(0, 1);
  }
};

/// The uncovered corners take the median of the border, the colour of the
/// paper in scans and drawings.
class AffineAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "random rotation, scale, shear and shift";
  using Options = AffineOptions;

  explicit AffineAugmentation(const Options& options) : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    const Affine map =
        random_affine(rng, options_.range, image.width, image.height);
    return warp_affine(image, map, border_grey(image));
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(augmentation_registry(), "affine", AffineAugmentation);

}  // namespace kith
