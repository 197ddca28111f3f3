// What holds for every corruption.
#include "kith/data/corruption.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/corruptions.h"
#include "tests/support/expect_error.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

std::unique_ptr<Corruption> named(const std::string& name) {
  return corruption_registry().at(name, "").make(ConfigNode::map(), name);
}

TEST(Corruptions, AreTheNinePublishedOnes) {
  EXPECT_EQ(
      corruption_registry().names(),
      (std::vector<std::string>{
          "cutout", "dropout", "gaussian_blur", "gaussian_noise", "jpeg",
          "perspective", "rotation", "salt_and_pepper", "uniform_noise"}));
}

TEST(Corruptions, KeepSizeAndChannelsOfAnyPictureAndTheirInput) {
  struct Shape {
    int width, height;
  };
  for (const std::string& name : corruption_registry().names()) {
    SCOPED_TRACE(name);
    const auto part = named(name);
    for (const Shape shape :
         {Shape{1, 1}, Shape{1, 9}, Shape{9, 1}, Shape{3, 2}, Shape{17, 33}}) {
      for (const int channels : {1, 3}) {
        const Image image = noise_picture(shape.width, shape.height, channels);
        const Image copy = image;
        for (int64_t index = 0; index < 20; ++index) {
          const Image result = corrupt(*part, name, image, 3, index);
          ASSERT_EQ(result.width, shape.width);
          ASSERT_EQ(result.height, shape.height);
          ASSERT_EQ(result.channels, channels);
          ASSERT_EQ(result.pixels.size(), image.pixels.size());
        }
        EXPECT_EQ(image.pixels, copy.pixels);
      }
    }
  }
}

TEST(Corruptions, DependOnSeedAndImageAndNothingElse) {
  const Image image = noise_picture(48, 40, 3);
  for (const std::string& name : corruption_registry().names()) {
    SCOPED_TRACE(name);
    const auto part = named(name);
    const auto same = named(name);
    std::set<std::vector<uint8_t>> by_index;
    std::set<std::vector<uint8_t>> by_seed;
    for (int64_t i = 0; i < 12; ++i) {
      const Image first = corrupt(*part, name, image, 7, i);
      by_index.insert(first.pixels);
      by_seed.insert(
          corrupt(*part, name, image, static_cast<uint64_t>(i), 7).pixels);
      EXPECT_EQ(corrupt(*same, name, image, 7, i).pixels, first.pixels);
    }
    // Few qualities of JPEG, and dropout may drop nothing.
    EXPECT_GE(by_index.size(), 5u);
    EXPECT_GE(by_seed.size(), 5u);
  }
}

TEST(Corruptions, HaveTheirOwnDrawByName) {
  const Image image = flat_picture(1, 1, 1, 100);
  const UniformNoiseCorruption part;
  int equal = 0;
  for (int64_t i = 0; i < 200; ++i) {
    equal += corrupt(part, "a", image, 0, i).pixels ==
             corrupt(part, "b", image, 0, i).pixels;
  }
  EXPECT_LT(equal, 12);  // about two by chance
}

// Published results depend on these numbers: they must never change.
TEST(Corruptions, DrawTheSameForever) {
  const Image image = flat_picture(1, 1, 1, 100);
  const UniformNoiseCorruption part;
  std::vector<int> values;
  for (int64_t i = 0; i < 5; ++i) {
    values.push_back(corrupt(part, "uniform_noise", image, 1, i).pixels[0]);
  }
  EXPECT_EQ(values, (std::vector<int>{150, 103, 79, 73, 100}));
}

TEST(Corruptions, RefuseAnEmptyPicture) {
  for (const std::string& name : corruption_registry().names()) {
    expect_error<DataError>([&] { corrupt(*named(name), name, Image(), 0, 0); },
                            "the picture is empty");
  }
  Rng rng(0, Stream::kCorrupt, {});
  expect_error<DataError>([&] { JpegCorruption().apply(Image(), rng); },
                          "the picture is empty");
}

TEST(Corruptions, RefuseARangeThatIsNone) {
  expect_error<ConfigError>(
      [] {
        GaussianBlurCorruption part({.sigma = {3, 1}});
      },
      "gaussian_blur: 'sigma' needs two values, the lesser one first");
  expect_error<ConfigError>([] { JpegCorruption part({.compression = {80}}); },
                            "jpeg: 'compression' needs two values");
  expect_error<ConfigError>(
      [] {
        JpegCorruption part({.compression = {80, 101}});
      },
      "jpeg.compression", "[0, 100]");
}

}  // namespace
}  // namespace kith
