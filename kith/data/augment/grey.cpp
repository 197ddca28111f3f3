#include "kith/data/augment.h"
#include "kith/image/colour.h"

namespace kith {
namespace {

struct GreyOptions {
  double p = 0.1;

  void describe(OptionSet& set) {
    set.add("p", p, "How likely a picture is changed.").range(0, 1);
  }
};

/// The picture keeps its three channels, which become equal.
class GreyAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary = "random loss of colour";
  using Options = GreyOptions;

  explicit GreyAugmentation(const Options& options) : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    if (rng.uniform() >= options_.p) return image;
    return to_channels(to_channels(image, 1), image.channels);
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(augmentation_registry(), "grey", GreyAugmentation);

}  // namespace kith
