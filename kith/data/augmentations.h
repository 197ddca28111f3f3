#pragma once

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

  void describe(OptionSet& set);
};

/// Factors are drawn first, in the order of the options, then the order in
/// which the changes are made. A change whose option is 0 is left out.
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

}  // namespace kith
