#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kith/data/corruption.h"
#include "kith/image/warp.h"

namespace kith {
namespace {

struct PerspectiveOptions {
  std::vector<double> scale = {0.05, 0.15};

  void describe(OptionSet& set) {
    set.add("scale", scale,
            "Least and most deviation of the corners, as a share of the side.")
        .range(0, 1);
  }
};

/// A four-point perspective transform like imgaug's. With s uniform in `scale`,
/// drawn once per picture, each corner of the picture moves inwards by
/// |N(0, s)| of the width and, with its own draw, of the height; what lies
/// between the four is stretched to the full size, bilinear. So no pixel is
/// empty.
///
/// A corner moves by at most 0.3 of a side. Below 1/3 the four always make a
/// convex quadrilateral: the top left one, at most (c, c), stays on its side of
/// the line from (1 - c, 0) to (0, 1 - c) as long as 2 c < 1 - c.
class Perspective final : public Corruption {
 public:
  static constexpr const char* kSummary = "four corners moved inwards";
  using Options = PerspectiveOptions;

  explicit Perspective(const Options& options)
      : scale_(range_of(options.scale, "perspective", "scale")) {}

  Image apply(const Image& image, Rng& rng) const override {
    const double scale = rng.uniform(scale_[0], scale_[1]);
    const double width = image.width;
    const double height = image.height;
    std::array<Corner, 4> corners = {
        Corner{0.0, 0.0}, {width, 0.0}, {width, height}, {0.0, height}};
    for (Corner& corner : corners) {
      const double dx = move(scale, rng) * width;
      const double dy = move(scale, rng) * height;
      corner.x += corner.x == 0.0 ? dx : -dx;
      corner.y += corner.y == 0.0 ? dy : -dy;
    }
    return warp_mirrored(image,
                         rectangle_to(corners, image.width, image.height));
  }

 private:
  static double move(double scale, Rng& rng) {
    constexpr double kMost = 0.3;
    return std::min(std::abs(scale * rng.normal()), kMost);
  }

  std::array<double, 2> scale_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "perspective", Perspective);

}  // namespace kith
