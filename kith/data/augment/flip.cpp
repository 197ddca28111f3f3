#include <algorithm>
#include <cstddef>

#include "kith/data/augment.h"

namespace kith {
namespace {

struct FlipOptions {
  double p = 0.5;

  void describe(OptionSet& set) {
    set.add("p", p, "How likely a picture is changed.").range(0, 1);
  }
};

class FlipAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary = "random exchange of left and right";
  using Options = FlipOptions;

  explicit FlipAugmentation(const Options& options) : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    Image result = image;
    if (rng.uniform() >= options_.p) return result;
    const auto row_bytes = std::ptrdiff_t{image.width} * image.channels;
    for (int y = 0; y < image.height; ++y) {
      const uint8_t* from = image.row(y);
      uint8_t* to = result.row(y) + row_bytes;
      for (int x = 0; x < image.width; ++x, from += image.channels) {
        to -= image.channels;
        std::copy_n(from, image.channels, to);
      }
    }
    return result;
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(augmentation_registry(), "flip", FlipAugmentation);

}  // namespace kith
