#include "kith/image/colour.h"

#include <vector>

#include <gtest/gtest.h>

namespace kith {
namespace {

using Pixels = std::vector<uint8_t>;

Image rgb(const Pixels& pixels) {
  Image image(static_cast<int>(pixels.size()) / 3, 1, 3);
  image.pixels = pixels;
  return image;
}

Pixels changed(void (*adjust)(Image&, double), Image image, double amount) {
  adjust(image, amount);
  return image.pixels;
}

const Pixels kSome = {0, 0, 0, 255, 255, 255, 200, 100, 50, 7, 7, 7, 0, 9, 250};

TEST(Colour, OneChangesNothing) {
  for (const auto adjust :
       {adjust_brightness, adjust_contrast, adjust_saturation}) {
    EXPECT_EQ(changed(adjust, rgb(kSome), 1.0), kSome);
  }
}

TEST(Colour, ZeroIsTheDullPicture) {
  EXPECT_EQ(changed(adjust_brightness, rgb(kSome), 0.0), Pixels(15, 0));
  // Greys 0, 255, 124, 7, 34: mean 84.
  EXPECT_EQ(changed(adjust_contrast, rgb(kSome), 0.0), Pixels(15, 84));
  EXPECT_EQ(
      changed(adjust_saturation, rgb(kSome), 0.0),
      (Pixels{0, 0, 0, 255, 255, 255, 124, 124, 124, 7, 7, 7, 34, 34, 34}));
}

TEST(Colour, ExaggerationIsClipped) {
  EXPECT_EQ(changed(adjust_brightness, rgb({100, 200, 3}), 2.0),
            (Pixels{200, 255, 6}));
  EXPECT_EQ(changed(adjust_saturation, rgb({200, 100, 50}), 3.0),
            (Pixels{255, 52, 0}));
}

TEST(Colour, HueTurnsTheColourCircle) {
  // A third of a turn is 85 of 255: red becomes green and green blue.
  EXPECT_EQ(changed(adjust_hue, rgb({255, 0, 0, 0, 255, 0}), 1.0 / 3.0 + 1e-9),
            (Pixels{0, 255, 0, 0, 0, 255}));
  EXPECT_EQ(changed(adjust_hue, rgb({0, 255, 0}), -1.0 / 3.0 - 1e-9),
            (Pixels{255, 0, 0}));
  EXPECT_EQ(changed(adjust_hue, rgb({9, 9, 9, 0, 0, 0}), 0.3),
            (Pixels{9, 9, 9, 0, 0, 0}));
}

TEST(Colour, EmptyPicturesAreLeftAlone) {
  for (const auto adjust :
       {adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue}) {
    EXPECT_TRUE(changed(adjust, Image(), 0.5).empty());
  }
}

}  // namespace
}  // namespace kith
