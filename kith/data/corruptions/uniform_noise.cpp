#include <algorithm>

#include "kith/data/corruption.h"

namespace kith {
namespace {

struct UniformNoiseOptions {
  int64_t max_shift = 50;

  void describe(OptionSet& set) {
    set.add("max_shift", max_shift,
            "The value is from minus this to this, in grey levels.")
        .range(0, 255);
  }
};

/// One whole number, uniform in [-max_shift, max_shift], is added to all pixels
/// and channels of a picture, and clamped.
class UniformNoise final : public Corruption {
 public:
  static constexpr const char* kSummary =
      "one random value added to all pixels";
  using Options = UniformNoiseOptions;

  explicit UniformNoise(const Options& options) : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    const auto shift =
        static_cast<int>(rng.between(-options_.max_shift, options_.max_shift));
    Image result = image;
    for (uint8_t& pixel : result.pixels) {
      pixel = static_cast<uint8_t>(std::clamp(pixel + shift, 0, 255));
    }
    return result;
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "uniform_noise", UniformNoise);

}  // namespace kith
