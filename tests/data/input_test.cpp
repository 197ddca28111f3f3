#include "kith/data/input.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/image/colour.h"
#include "kith/image/resize.h"
#include "tests/support/expect_error.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

InputOptions input(const std::string& yaml) {
  auto options =
      read_options<InputOptions>(parse_config(yaml, "r.yaml"), "model.input");
  options.settle("grey", nullptr);
  options.check();
  return options;
}

// Adds one to every pixel; shows what it was given and when it was called.
class Brighten final : public Augmentation {
 public:
  Image apply(const Image& image, Rng& rng) const override {
    rng.next();
    Image result = image;
    for (uint8_t& pixel : result.pixels) ++pixel;
    return result;
  }
};

TEST(ToChannels, KeepsWhatFits) {
  for (const int channels : {1, 3}) {
    const Image image = pattern_picture(4, 3, channels);
    EXPECT_EQ(to_channels(image, channels).pixels, image.pixels);
  }
}

TEST(ToChannels, RepeatsGrey) {
  const Image image = pattern_picture(4, 3, 1);
  const Image rgb = to_channels(image, 3);
  EXPECT_EQ(rgb.channels, 3);
  ASSERT_EQ(rgb.pixels.size(), 36u);
  for (size_t i = 0; i < 36; ++i) {
    EXPECT_EQ(rgb.pixels[i], image.pixels[i / 3]);
  }
  EXPECT_EQ(to_channels(rgb, 1).pixels, image.pixels);
}

// 0.299 R + 0.587 G + 0.114 B, rounded.
TEST(ToChannels, WeighsColours) {
  Image image(7, 1, 3);
  image.pixels = {255, 0, 0, 0, 255, 0,  0,  0,   255, 255, 255,
                  255, 0, 0, 0, 10,  20, 30, 200, 100, 50};
  EXPECT_EQ(to_channels(image, 1).pixels,
            (std::vector<uint8_t>{76, 150, 29, 255, 0, 18, 124}));
}

TEST(PrepareImage, BringsToSizeAndColour) {
  Rng rng(0, Stream::kAugment);
  const Image image = pattern_picture(20, 10, 3);
  const Image grey = prepare_image(image, input("size: 16"), {}, rng);
  EXPECT_EQ(grey.width, 16);
  EXPECT_EQ(grey.height, 16);
  EXPECT_EQ(grey.pixels, resize(to_channels(image, 1), 16, 16).pixels);
  const Image rgb = prepare_image(
      pattern_picture(16, 16, 1),
      input("{size: 16, colour: rgb, mean: [0, 0, 0], std: [1, 1, 1]}"), {},
      rng);
  EXPECT_EQ(rgb.pixels, to_channels(pattern_picture(16, 16, 1), 3).pixels);
}

TEST(PrepareImage, AugmentsAtTheSizeOfTheSource) {
  Augmentations steps;
  steps.push_back(std::make_unique<Brighten>());
  steps.push_back(std::make_unique<Brighten>());
  Rng rng(0, Stream::kAugment);
  Rng twice(0, Stream::kAugment);
  Image image = pattern_picture(20, 10, 1);
  const Image result = prepare_image(image, input("size: 8"), steps, rng);
  for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(pixel + 2);
  EXPECT_EQ(result.pixels, resize(image, 8, 8).pixels);
  twice.next();
  twice.next();
  EXPECT_EQ(rng.next(), twice.next());
}

class Shrink final : public Augmentation {
 public:
  Image apply(const Image& image, Rng&) const override {
    return resize(image, 8, 8);
  }
};

TEST(PrepareImage, LeavesAPictureThatIsRight) {
  Augmentations steps;
  steps.push_back(std::make_unique<Shrink>());
  Rng rng(0, Stream::kAugment);
  const Image image = pattern_picture(20, 10, 1);
  const Image small = resize(image, 8, 8);
  const InputOptions with_resize = input("{size: 8, resize: 10}");
  EXPECT_EQ(prepare_image(image, with_resize, steps, rng).pixels, small.pixels);
  // For testing the margin is cut off, whatever the size.
  EXPECT_EQ(prepare_image(small, with_resize, {}, rng).pixels,
            crop(resize(small, 10, 10), {1, 1, 9, 9}).pixels);
}

TEST(PrepareImage, CutsTheCentre) {
  Rng rng(0, Stream::kAugment);
  const Image image = pattern_picture(40, 21, 1);
  EXPECT_EQ(
      prepare_image(image, input("{size: 8, resize: 11}"), {}, rng).pixels,
      crop(resize(image, 20, 11), {6, 2, 14, 10}).pixels);
  EXPECT_EQ(
      prepare_image(image, input("{size: 8, filter: bicubic}"), {}, rng).pixels,
      resize(image, 8, 8, Filter::kBicubic).pixels);
}

// The whole picture would be 4096 x 268 million pixels.
TEST(PrepareImage, TakesExtremeShapes) {
  Rng rng(0, Stream::kAugment);
  for (const Image& image :
       {pattern_picture(65'535, 1, 1), pattern_picture(1, 65'535, 1)}) {
    const Image result =
        prepare_image(image, input("{size: 16, resize: 4096}"), {}, rng);
    EXPECT_EQ(result.width, 16);
    EXPECT_EQ(result.height, 16);
  }
}

TEST(InputOptions, ResizeFitsTheSize) {
  EXPECT_EQ(input("{size: 8, resize: 8}").resize, 8);
  expect_error<ConfigError>([] { input("{size: 32, resize: 31}"); },
                            "model.input.resize", "at least", "(32)", "31");
  expect_error<ConfigError>([] { input("filter: nearest"); },
                            "bilinear, bicubic");
}

TEST(InputOptions, MeanAndStdFitTheColour) {
  EXPECT_EQ(input("").channels(), 1);
  for (const char* colour : {"rgb", "bgr"}) {
    const std::string start = std::string("{colour: ") + colour;
    EXPECT_EQ(input(start + ", mean: [0, 0, 0], std: [1, 1, 1]}").channels(),
              3);
    EXPECT_EQ(input(start + "}").channels(), 3);
    EXPECT_EQ(input(start + "}").mean, std::vector<double>(3, 0.5));
    EXPECT_EQ(input(start + "}").std, std::vector<double>(3, 0.5));
  }
  expect_error<ConfigError>([] { input("{colour: rgb, mean: [0.5]}"); },
                            "model.input.mean", "3 values", "'rgb'", "got 1",
                            "leave it out");
  expect_error<ConfigError>(
      [] { input("{colour: rgb, mean: [0, 0, 0], std: [1]}"); },
      "model.input.std", "3 values");
  expect_error<ConfigError>([] { input("mean: [0, 0, 0]"); }, "1 values",
                            "'grey'", "got 3", "'model.input.colour'");
  expect_error<ConfigError>([] { input("std: [0]"); }, "model.input.std",
                            "greater than 0");
  expect_error<ConfigError>([] { input("colour: gray"); }, "'grey'");
  expect_error<ConfigError>([] { input("size: 0"); }, "[1, 4096]");
}

TEST(InputOptions, FollowTheDataAndTheWeights) {
  const auto settled = [](const std::string& yaml, const std::string& found,
                          const PretrainedInput* pretrained) {
    auto options =
        read_options<InputOptions>(parse_config(yaml, "r.yaml"), "model.input");
    options.settle(found, pretrained);
    options.check();
    return options;
  };
  const PretrainedInput imagenet;
  const PretrainedInput caffe = {"bgr", {0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}};
  EXPECT_EQ(settled("", "rgb", nullptr).colour, "rgb");
  EXPECT_EQ(settled("", "rgb", nullptr).mean, std::vector<double>(3, 0.5));
  EXPECT_EQ(settled("", "grey", nullptr).mean, std::vector<double>(1, 0.5));
  EXPECT_EQ(settled("", "rgb", &imagenet).mean,
            (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(settled("", "rgb", &imagenet).std,
            (std::vector<double>{0.229, 0.224, 0.225}));
  EXPECT_NEAR(settled("", "grey", &imagenet).mean.at(0), 0.449, 1e-12);
  EXPECT_NEAR(settled("", "grey", &imagenet).std.at(0), 0.226, 1e-12);
  // Those of Caffe want the channels the other way round.
  EXPECT_EQ(settled("", "rgb", &caffe).colour, "bgr");
  EXPECT_EQ(settled("", "rgb", &caffe).mean, caffe.mean);
  EXPECT_EQ(settled("colour: rgb", "rgb", &caffe).std,
            (std::vector<double>{0.6, 0.5, 0.4}));
  EXPECT_EQ(settled("colour: grey", "rgb", &caffe).channels(), 1);
  // What the user says holds.
  const InputOptions own =
      settled("{colour: bgr, mean: [1, 2, 3]}", "grey", &imagenet);
  EXPECT_EQ(own.mean, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(own.std, (std::vector<double>{0.225, 0.224, 0.229}));
  // Nothing is guessed before the data are there.
  const InputOptions open = settled("", "auto", &imagenet);
  EXPECT_EQ(open.colour, "auto");
  EXPECT_TRUE(open.mean.empty() && open.std.empty());
}

Size size_of(const Image& image, const std::string& yaml) {
  Rng rng(0, Stream::kAugment);
  const Image picture = prepare_image(image, input(yaml), {}, rng);
  return {picture.width, picture.height};
}

TEST(AnyShape, KeepsTheShapeOfPictures) {
  const std::string yaml = "{size: 8, long_side: 64, multiple: 16}";
  struct Case {
    int width, height;
    Size expected;
  };
  for (const Case& c : {Case{128, 128, {64, 64}}, Case{128, 96, {64, 48}},
                        Case{90, 128, {48, 64}}, Case{40, 23, {48, 16}},
                        Case{300, 5, {64, 16}}, Case{8, 8, {16, 16}}}) {
    const Size size = size_of(pattern_picture(c.width, c.height, 1), yaml);
    EXPECT_EQ(size.width, c.expected.width) << c.width << " x " << c.height;
    EXPECT_EQ(size.height, c.expected.height) << c.width << " x " << c.height;
  }
  const Size exact =
      size_of(pattern_picture(100, 75, 1), "{long_side: 50, multiple: 1}");
  EXPECT_EQ(exact.width, 50);
  EXPECT_EQ(exact.height, 38);  // of 37 and 38 the nearer ratio
}

TEST(AnyShape, FitsWhatAugmentationGave) {
  Augmentations steps;
  steps.push_back(std::make_unique<Brighten>());
  Rng rng(0, Stream::kAugment);
  // As large as `size` says, which means nothing here.
  const Image picture = prepare_image(
      pattern_picture(20, 20, 1),
      input("{size: 20, long_side: 16, multiple: 8}"), steps, rng);
  EXPECT_EQ(picture.width, 16);
}

TEST(AnyShape, CountsPicturesByTheirPixels) {
  const InputOptions any = input("{size: 8, long_side: 64, multiple: 16}");
  EXPECT_EQ(any.as_many(4, 64, 64), 4);
  EXPECT_EQ(any.as_many(4, 64, 48), 5);
  EXPECT_EQ(any.as_many(1, 128, 64), 1);
  EXPECT_EQ(input("{size: 8}").as_many(7, 8, 8), 7);
  EXPECT_GT(any.as_many(std::numeric_limits<int64_t>::max(), 64, 64), 1 << 30);
}

TEST(AnyShape, RefusesOptionsThatDoNotFit) {
  expect_error<ConfigError>([] { input("{long_side: 100, multiple: 32}"); },
                            "model.input.long_side", "32", "100");
  expect_error<ConfigError>([] { input("{resize: 80, long_side: 64}"); },
                            "model.input.resize", "set one of them to 0");
}

}  // namespace
}  // namespace kith
