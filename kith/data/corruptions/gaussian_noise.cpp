#include <algorithm>

#include "kith/data/corruption.h"

namespace kith {
namespace {

struct GaussianNoiseOptions {
  double max_deviation = 25.5;

  void describe(OptionSet& set) {
    set.add("max_deviation", max_deviation,
            "The deviation is uniform from 0 to this, in grey levels.")
        .range(0, 255);
  }
};

/// N(0, s) is added to every channel of every pixel, rounded and clamped;
/// s ~ U(0, max_deviation) is drawn once per picture.
class GaussianNoise final : public Corruption {
 public:
  static constexpr const char* kSummary =
      "normal noise in every pixel and channel";
  using Options = GaussianNoiseOptions;

  explicit GaussianNoise(const Options& options) : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    const double deviation = rng.uniform(0.0, options_.max_deviation);
    Image result = image;
    for (uint8_t& pixel : result.pixels) {
      const double noisy = pixel + deviation * rng.normal();
      pixel = static_cast<uint8_t>(std::clamp(noisy, 0.0, 255.0) + 0.5);
    }
    return result;
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "gaussian_noise", GaussianNoise);

}  // namespace kith
