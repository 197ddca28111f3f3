#include "kith/eval/descriptor.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/image/colour.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

Image pattern(int width, int height, int channels = 1) {
  Image image(width, height, channels);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>((i * 37 + i * i * 11) % 256);
  }
  return image;
}

template <class Options>
Options read(const std::string& yaml) {
  return read_options<Options>(parse_config(yaml, "r.yaml"), "eval");
}

// Sizes of Pillow 9.4's Image.thumbnail.
TEST(SizeWithin, IsThatOfThumbnail) {
  struct Case {
    Size size;
    int side;
    Size expected;
  };
  const std::vector<Case> cases = {
      {{1600, 1200}, 1024, {1024, 768}},
      {{1024, 768}, 1024, {1024, 768}},
      {{1000, 1024}, 1024, {1000, 1024}},
      {{500, 300}, 1024, {500, 300}},
      {{1025, 683}, 1024, {1024, 682}},
      {{683, 1025}, 1024, {682, 1024}},
      {{4000, 1}, 1024, {1024, 1}},
      {{1, 4000}, 1024, {1, 1024}},
      {{3000, 2}, 1024, {1024, 1}},
      {{2048, 2047}, 1024, {1024, 1024}},
      {{37, 91}, 17, {7, 17}},
      {{91, 37}, 17, {17, 7}},
      {{2000, 1333}, 725, {725, 483}},
      {{1333, 2000}, 725, {483, 725}},
      {{141, 323}, 9, {4, 9}},
      {{209, 329}, 20, {13, 20}},
      {{340, 317}, 7, {7, 7}},
      {{330, 26}, 20, {20, 2}},
      {{152, 302}, 12, {6, 12}},
      {{118, 387}, 20, {6, 20}},
      {{296, 301}, 20, {20, 20}},
      {{223, 347}, 9, {6, 9}},
      {{138, 345}, 9, {4, 9}},
      {{287, 219}, 5, {5, 4}},
  };
  for (const Case& c : cases) {
    const Size got = size_within(c.size, c.side);
    EXPECT_EQ(got.width, c.expected.width) << c.size.width << " " << c.side;
    EXPECT_EQ(got.height, c.expected.height) << c.size.height << " " << c.side;
  }
}

TEST(MakePictures, OfTheModelsInputAreScaledWithIt) {
  const auto input = read<InputOptions>("{size: 20, resize: 24}");
  const auto options = read<DescriptorOptions>("scales: [1, 0.5, 1.33, 0.1]");
  const Image image = pattern(50, 40, 3);
  const std::vector<Image> pictures = make_pictures(image, input, options);
  ASSERT_EQ(pictures.size(), 4u);
  Rng rng(0, Stream::kAugment);
  const char* sizes[] = {"{size: 20, resize: 24}", "{size: 10, resize: 12}",
                         "{size: 26, resize: 31}", "{size: 8, resize: 8}"};
  for (size_t i = 0; i < 4; ++i) {
    const Image expected =
        prepare_image(image, read<InputOptions>(sizes[i]), {}, rng);
    EXPECT_EQ(pictures[i].width, expected.width);
    EXPECT_EQ(pictures[i].pixels, expected.pixels);
  }
}

TEST(MakePictures, AtScaleOneAreTheModelsInput) {
  const auto input =
      read<InputOptions>("{size: 4, filter: bicubic, colour: grey}");
  Rng rng(0, Stream::kAugment);
  EXPECT_EQ(make_pictures(pattern(50, 40), input, {}).front().pixels,
            prepare_image(pattern(50, 40), input, {}, rng).pixels);
}

TEST(MakePictures, OfALongSideKeepTheirShape) {
  const auto input = read<InputOptions>("{size: 20, resize: 24, colour: grey}");
  const auto options =
      read<DescriptorOptions>("{long_side: 32, scales: [1, 0.70710678, 2]}");
  const Image image = pattern(64, 41, 3);
  const std::vector<Image> pictures = make_pictures(image, input, options);
  ASSERT_EQ(pictures.size(), 3u);
  const Image grey = to_channels(image, 1);
  EXPECT_EQ(pictures[0].pixels, resize(grey, 32, 21).pixels);
  EXPECT_EQ(pictures[1].pixels, resize(grey, 22, 14).pixels);
  EXPECT_EQ(pictures[2].pixels, resize(grey, 64, 42).pixels);
  // Smaller images are not enlarged but by the scale.
  const Image small = pattern(30, 12);
  const std::vector<Image> as_is = make_pictures(small, input, options);
  EXPECT_EQ(as_is[0].pixels, small.pixels);
  EXPECT_EQ(as_is[2].pixels, resize(small, 60, 24).pixels);
}

TEST(MakePictures, AreNotThinnerThanBackbonesTake) {
  const auto input = read<InputOptions>("");
  const auto options = read<DescriptorOptions>("long_side: 100");
  const Image thin = make_pictures(pattern(65'535, 1), input, options).front();
  EXPECT_EQ(thin.width, 100);
  EXPECT_EQ(thin.height, kShortestSide);
  const Image dot = make_pictures(pattern(1, 1), input, options).front();
  EXPECT_EQ(dot.width, kShortestSide);
}

TEST(DescriptorOptions, AreRead) {
  EXPECT_TRUE(DescriptorOptions().is_plain());
  EXPECT_TRUE(read<DescriptorOptions>("scales: [1]").is_plain());
  for (const char* other :
       {"scales: [1, 1]", "scales: [0.5]", "flip: true", "long_side: 64"}) {
    EXPECT_FALSE(read<DescriptorOptions>(other).is_plain()) << other;
  }
  for (const char* wrong : {"scales: []", "scales: [0]", "scales: [1, -1]",
                            "scales: [5]", "scales: [.nan]"}) {
    expect_error<ConfigError>([&] { read<DescriptorOptions>(wrong); },
                              "eval.scales");
  }
  expect_error<ConfigError>([] { read<DescriptorOptions>("long_side: -1"); },
                            "eval.long_side", "[0, 8192]");
}

// The model's own input, with its multiples.
TEST(MakePictures, OfAnyShapeAreScaledInputs) {
  InputOptions input;
  input.colour = "grey";
  input.long_side = 64;
  input.multiple = 16;
  const Image image = pattern(128, 70);
  DescriptorOptions options;
  options.scales = {1, 0.5, 2, 0.01};
  const std::vector<Image> pictures = make_pictures(image, input, options);
  const std::vector<Size> expected = {{64, 32}, {32, 16}, {128, 64}, {16, 16}};
  ASSERT_EQ(pictures.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(pictures[i].width, expected[i].width) << i;
    EXPECT_EQ(pictures[i].height, expected[i].height) << i;
  }
  Rng unused(0, Stream::kAugment);
  EXPECT_EQ(pictures[0].pixels, prepare_image(image, input, {}, unused).pixels);
  options.long_side = 50;  // the evaluation's own: no multiples
  EXPECT_EQ(make_pictures(image, input, options)[0].width, 50);
  EXPECT_EQ(make_pictures(image, input, options)[0].height, 27);
}

}  // namespace
}  // namespace kith
