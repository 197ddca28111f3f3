#include <algorithm>

#include "kith/data/corruption.h"

namespace kith {
namespace {

struct SaltAndPepperOptions {
  double share = 0.05;

  void describe(OptionSet& set) {
    set.add("share", share, "The probability that a pixel is replaced.")
        .range(0, 1);
  }
};

/// Each pixel is replaced with probability `share`, all channels together, by
/// black or by white evenly. (imgaug draws the replacement from a Beta(1/2,
/// 1/2) distribution over 0 to 255, which is mostly but not quite black and
/// white; the publication says salt and pepper.)
class SaltAndPepper final : public Corruption {
 public:
  static constexpr const char* kSummary = "some pixels black, some white";
  using Options = SaltAndPepperOptions;

  explicit SaltAndPepper(const Options& options) : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    Image result = image;
    const auto channels = static_cast<size_t>(image.channels);
    for (size_t i = 0; i < result.pixels.size(); i += channels) {
      if (rng.uniform() >= options_.share) continue;
      const uint8_t value = rng.below(2) == 0 ? 0 : 255;
      std::fill_n(result.pixels.data() + i, channels, value);
    }
    return result;
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "salt_and_pepper", SaltAndPepper);

}  // namespace kith
