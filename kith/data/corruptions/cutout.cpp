#include <algorithm>
#include <cmath>

#include "kith/data/corruption.h"

namespace kith {
namespace {

struct CutoutOptions {
  int64_t count = 2;
  double share = 0.2;

  void describe(OptionSet& set) {
    set.add("count", count, "How many rectangles.").range(1, 100);
    set.add("share", share, "Area of each, as a share of the picture's.")
        .range(0.001, 1);
  }
};

void fill_grey(Image& image, int64_t left, int64_t top, int64_t columns,
               int64_t rows) {
  for (int64_t y = top; y < top + rows; ++y) {
    std::fill_n(image.row(static_cast<int>(y)) + left * image.channels,
                columns * image.channels, uint8_t{128});
  }
}

/// Grey rectangles that lie wholly inside the picture and may overlap. The
/// publication gives their size as 20 % of the picture's, with random height
/// and width: the height's share h of the picture is drawn from [share, 1],
/// uniform in its logarithm so that tall and wide are alike, and the width's is
/// share / h. At least one pixel. (A `size` of imgaug's Cutout is instead the
/// share of either side.)
class Cutout final : public Corruption {
 public:
  static constexpr const char* kSummary = "grey rectangles";
  using Options = CutoutOptions;

  explicit Cutout(const Options& options) : options_(options) {}

  Image apply(const Image& image, Rng& rng) const override {
    Image result = image;
    for (int64_t i = 0; i < options_.count; ++i) cut(result, rng);
    return result;
  }

 private:
  void cut(Image& image, Rng& rng) const {
    const int64_t width = image.width;
    const int64_t height = image.height;
    const double tall = std::exp(rng.uniform(std::log(options_.share), 0.0));
    const int64_t rows = std::clamp<int64_t>(
        std::llround(tall * static_cast<double>(height)), 1, height);
    const double area = options_.share * static_cast<double>(width) *
                        static_cast<double>(height);
    const int64_t columns = std::clamp<int64_t>(
        std::llround(area / static_cast<double>(rows)), 1, width);
    const int64_t left = rng.between(0, width - columns);
    const int64_t top = rng.between(0, height - rows);
    fill_grey(image, left, top, columns, rows);
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "cutout", Cutout);

}  // namespace kith
