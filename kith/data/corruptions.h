#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kith/data/corruption.h"

namespace kith {

/// The corruptions that kith has. Options say how strong each is; they have
/// the same names in a configuration:
///
///     RotationCorruption turn({.max_degrees = 10});
///     Image damaged = corrupt(turn, "rotation", image, seed, index);

struct CutoutOptions {
  int64_t count = 2;
  double size = 0.2;

  void describe(OptionSet& set);
};

/// Grey rectangles that lie wholly inside the picture and may overlap. Each has
/// `size` of the picture's height and `size` of its width, as in imgaug,
/// rounded to at least one pixel: 0.2 hides 4% of the area. (imgaug puts the
/// centre of each anywhere, so a part of some lies outside and hides nothing.
/// The publication calls height and width random: they are not in imgaug, but
/// differ where the picture's do.)
class CutoutCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary =
      "grey rectangles, a fifth of each side";
  using Options = CutoutOptions;

  explicit CutoutCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct DropoutOptions {
  double max_share = 0.05;
  std::vector<double> cells = {0.02, 0.25};

  void describe(OptionSet& set);
};

/// Coarse dropout. The picture is divided into a coarse grid; each cell turns
/// black with probability p ~ U(0, max_share), drawn once per picture. The
/// number of rows is the height times a share that is uniform in `cells`, the
/// number of columns likewise with its own draw; at least three each, as
/// imgaug's CoarseDropout, where the picture has as many pixels. The
/// publication gives only p; `cells` is the range in imgaug's own examples.
class DropoutCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary = "black rectangles on a coarse grid";
  using Options = DropoutOptions;

  explicit DropoutCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  double max_share_;
  std::array<double, 2> cells_;
};

struct GaussianNoiseOptions {
  double max_deviation = 25.5;

  void describe(OptionSet& set);
};

/// N(0, s), drawn once per pixel and the same for its channels, is added,
/// rounded and clamped; s ~ U(0, max_deviation) is drawn once per picture.
class GaussianNoiseCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary = "normal noise, one value a pixel";
  using Options = GaussianNoiseOptions;

  explicit GaussianNoiseCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct SaltAndPepperOptions {
  double share = 0.05;

  void describe(OptionSet& set);
};

/// Each pixel is replaced with probability `share`, all channels together, by
/// black or by white evenly. (imgaug draws the replacement from a Beta(1/2,
/// 1/2) distribution over 0 to 255, which is mostly but not quite black and
/// white; the publication says salt and pepper.)
class SaltAndPepperCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary = "some pixels black, some white";
  using Options = SaltAndPepperOptions;

  explicit SaltAndPepperCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct UniformNoiseOptions {
  int64_t max_shift = 50;

  void describe(OptionSet& set);
};

/// One whole number, uniform in [-max_shift, max_shift], is added to all pixels
/// and channels of a picture, and clamped.
class UniformNoiseCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary =
      "one random value added to all pixels";
  using Options = UniformNoiseOptions;

  explicit UniformNoiseCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct GaussianBlurOptions {
  std::vector<double> sigma = {1.0, 3.0};

  void describe(OptionSet& set);
};

/// A Gaussian kernel whose deviation is uniform in `sigma`, drawn once per
/// picture. (imgaug cuts its kernel off at about 1.6 sigma, which blurs less
/// than its sigma says; here the kernel reaches to 4 sigma.)
class GaussianBlurCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary = "blurred with a Gaussian kernel";
  using Options = GaussianBlurOptions;

  explicit GaussianBlurCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  std::array<double, 2> sigma_;
};

struct JpegOptions {
  std::vector<int64_t> compression = {80, 95};

  void describe(OptionSet& set);
};

/// Encoded as JPEG and decoded again. The strength is a whole number, uniform
/// in `compression`, and the quality for libjpeg is 100 - strength, at least 1.
/// (imgaug's own scale gives 22 to 7 where this gives 20 to 5.)
class JpegCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary = "JPEG of low quality";
  using Options = JpegOptions;

  explicit JpegCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  std::array<int64_t, 2> compression_;
};

struct PerspectiveOptions {
  std::vector<double> scale = {0.05, 0.15};

  void describe(OptionSet& set);
};

/// A four-point perspective transform like imgaug's. With s uniform in `scale`,
/// drawn once per picture, each corner of the picture moves inwards by
/// |N(0, s)| of the width and, with its own draw, of the height; what lies
/// between the four is stretched to the full size, bilinear. So no pixel is
/// empty. (imgaug interpolates twice, for it first makes a picture of the size
/// of the four, and lets a corner move further than here.)
///
/// A corner moves by at most 0.3 of a side. Below 1/3 the four always make a
/// convex quadrilateral: the top left one, at most (c, c), stays on its side of
/// the line from (1 - c, 0) to (0, 1 - c) as long as 2 c < 1 - c.
class PerspectiveCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary = "four corners moved inwards";
  using Options = PerspectiveOptions;

  explicit PerspectiveCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  std::array<double, 2> scale_;
};

struct RotationOptions {
  double max_degrees = 30.0;

  void describe(OptionSet& set);
};

/// A turn about the centre by an angle uniform in [-max_degrees, max_degrees],
/// bilinear. The corners show the mirror image (symmetric padding).
class RotationCorruption final : public Corruption {
 public:
  static constexpr const char* kSummary = "turned, with mirrored corners";
  using Options = RotationOptions;

  explicit RotationCorruption(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

}  // namespace kith
