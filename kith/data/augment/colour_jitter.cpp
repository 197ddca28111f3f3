#include <algorithm>
#include <vector>

#include "kith/data/augment.h"
#include "kith/image/colour.h"

namespace kith {
namespace {

struct ColourJitterOptions {
  double brightness = 0.4;
  double contrast = 0.4;
  double saturation = 0.4;
  double hue = 0.0;

  void describe(OptionSet& set) {
    set.add("brightness", brightness, "Factor up to 1 +- this.").range(0, 10);
    set.add("contrast", contrast, "Factor up to 1 +- this.").range(0, 10);
    set.add("saturation", saturation, "Factor up to 1 +- this.").range(0, 10);
    set.add("hue", hue, "Turns of the colour circle up to +- this.")
        .range(0, 0.5);
  }
};

/// Factors are drawn first, in the order of the options, then the order in
/// which the changes are made. A change whose option is 0 is left out.
class ColourJitterAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "random brightness, contrast, saturation and hue";
  using Options = ColourJitterOptions;

  explicit ColourJitterAugmentation(const Options& options)
      : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    struct Change {
      void (*make)(Image&, double);
      double amount;
    };
    std::vector<Change> changes;
    const auto add = [&](void (*make)(Image&, double), double range) {
      if (range == 0.0) return;
      const double low = std::max(0.0, 1.0 - range);
      changes.push_back({make, rng.uniform(low, 1.0 + range)});
    };
    add(adjust_brightness, options_.brightness);
    add(adjust_contrast, options_.contrast);
    add(adjust_saturation, options_.saturation);
    if (options_.hue != 0.0) {
      changes.push_back({adjust_hue, rng.uniform(-options_.hue, options_.hue)});
    }
    rng.shuffle(changes);
    Image result = image;
    for (const Change& change : changes) change.make(result, change.amount);
    return result;
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(augmentation_registry(), "colour_jitter",
              ColourJitterAugmentation);

}  // namespace kith
