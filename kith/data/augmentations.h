#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kith/data/augment.h"
#include "kith/image/crop.h"

namespace kith {

/// The augmentations that kith has. Each takes a struct of options, which
/// have the same names in a configuration:
///
///     FlipAugmentation flip({.p = 0.3});
///     Image other = flip.apply(image, rng);

struct AffineOptions {
  double degrees = 10.0;
  double scale = 0.1;
  double shear = 0.0;
  double translate = 0.05;

  void describe(OptionSet& set);
};

/// The uncovered corners take the median of the border, the colour of the
/// paper in scans and drawings.
class AffineAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "random rotation, scale, shear and shift";
  using Options = AffineOptions;

  explicit AffineAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct FlipOptions {
  double p = 0.5;

  void describe(OptionSet& set);
};

class FlipAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary = "random exchange of left and right";
  using Options = FlipOptions;

  explicit FlipAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct ResizeOptions {
  int64_t size = 256;
  std::string filter = "bilinear";

  void describe(OptionSet& set);
};

class ResizeAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "the same shape at another size; not random";
  using Options = ResizeOptions;

  explicit ResizeAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct CenterCropOptions {
  int64_t size = 224;

  void describe(OptionSet& set);
};

class CenterCropAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "the centre; smaller pictures get a black border";
  using Options = CenterCropOptions;

  explicit CenterCropAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct RandomCropOptions {
  int64_t size = 224;

  void describe(OptionSet& set);
};

/// DataError for a picture that is smaller.
class RandomCropAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary = "a random square of a fixed size";
  using Options = RandomCropOptions;

  explicit RandomCropAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct RandomResizedCropOptions {
  int64_t size = 224;
  std::vector<double> scale = {0.08, 1.0};
  std::vector<double> ratio = {3.0 / 4.0, 4.0 / 3.0};
  std::string filter = "bilinear";

  void describe(OptionSet& set);
};

class RandomResizedCropAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "a random part, resized to a fixed size";
  using Options = RandomResizedCropOptions;

  explicit RandomResizedCropAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
  RandomBoxRange range_;
};

struct ColourJitterOptions {
  double brightness = 0.4;
  double contrast = 0.4;
  double saturation = 0.4;
  double hue = 0.0;
  double p = 1.0;

  void describe(OptionSet& set);
};

/// Factors are drawn first, in the order of the options, then the order in
/// which the changes are made. A change whose option is 0 is left out. With the
/// defaults these are the changes of timm's `color_jitter` 0.4; its
/// `color_jitter_prob` is `p`.
class ColourJitterAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "random brightness, contrast, saturation and hue";
  using Options = ColourJitterOptions;

  explicit ColourJitterAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct GreyOptions {
  double p = 0.1;

  void describe(OptionSet& set);
};

/// The picture keeps its three channels, which become equal.
class GreyAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary = "random loss of colour";
  using Options = GreyOptions;

  explicit GreyAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct RandomBlurOptions {
  double p = 0.5;
  std::vector<double> sigma = {0.1, 2.0};

  void describe(OptionSet& set);
};

/// The blur of SimCLR (Chen et al., 2020): the deviation is uniform in its
/// range.
class RandomBlurAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary = "random loss of sharpness";
  using Options = RandomBlurOptions;

  explicit RandomBlurAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
  std::array<double, 2> sigma_;
};

struct RandomErasingOptions {
  double p = 0.5;
  std::vector<double> scale = {0.02, 0.4};
  std::vector<double> ratio = {0.3, 1.0 / 0.3};
  std::string fill = "random";

  void describe(OptionSet& set);
};

/// Random Erasing (Zhong et al., 2020). The rectangle's share of the area and
/// its ratio are uniform in their ranges; a hundred tries at one that fits in
/// the picture, then the picture stays.
class RandomErasingAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "a random rectangle is covered (Zhong et al., 2020)";
  using Options = RandomErasingOptions;

  explicit RandomErasingAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
  std::array<double, 2> scale_;
  std::array<double, 2> ratio_;
};

struct RandAugmentOptions {
  int64_t operations = 2;
  double magnitude = 9.0;

  void describe(OptionSet& set);
};

/// RandAugment (Cubuk et al., 2020): operations drawn, with repetition, from
/// the fourteen of the paper, all at one magnitude. At magnitude 30 they reach
/// a turn of 30 degrees, a shear of 0.3, a shift of 150 / 331 of the side, 4
/// bits of posterize, threshold 0 of solarize, and factors of 1 +- 0.9 for
/// colour, contrast, brightness and sharpness; below, in proportion. Turns,
/// shears, shifts and factors go either way. Uncovered corners take the median
/// of the border, as with `affine`.
class RandAugmentAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "RandAugment: operations drawn from fourteen (Cubuk et al., 2020)";
  using Options = RandAugmentOptions;

  explicit RandAugmentAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
};

struct MultiCropOptions {
  int64_t size = 224;
  double local = 0.75;
  std::vector<double> local_scale = {0.05, 0.14};
  std::vector<double> global_scale = {0.14, 1.0};
  std::vector<double> ratio = {3.0 / 4.0, 4.0 / 3.0};
  std::string filter = "bilinear";

  void describe(OptionSet& set);
};

/// The views of multi-crop (Caron et al., 2020), one a call: a small part of
/// the picture with probability `local`, otherwise a large one. The defaults
/// are those of two large and six small views. All have one size, for a batch
/// is one tensor.
class MultiCropAugmentation final : public Augmentation {
 public:
  static constexpr const char* kSummary =
      "a small or a large part, resized to a fixed size (Caron et al., 2020)";
  using Options = MultiCropOptions;

  explicit MultiCropAugmentation(Options options = {});
  Image apply(const Image& image, Rng& rng) const override;

 private:
  Options options_;
  RandomBoxRange local_;
  RandomBoxRange global_;
};

}  // namespace kith
