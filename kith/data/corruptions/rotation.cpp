#include "kith/data/corruption.h"
#include "kith/image/warp.h"

namespace kith {
namespace {

struct RotationOptions {
  double max_degrees = 30.0;

  void describe(OptionSet& set) {
    set.add("max_degrees", max_degrees, "Up to this angle, either way.")
        .range(0, 180);
  }
};

/// A turn about the centre by an angle uniform in [-max_degrees, max_degrees],
/// bilinear. The corners show the mirror image (symmetric padding).
class Rotation final : public Corruption {
 public:
  static constexpr const char* kSummary = "turned, with mirrored corners";
  using Options = RotationOptions;

  explicit Rotation(const Options& options) : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    const double degrees =
        rng.uniform(-options_.max_degrees, options_.max_degrees);
    return warp_mirrored(image, rotation(degrees, image.width, image.height));
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "rotation", Rotation);

}  // namespace kith
