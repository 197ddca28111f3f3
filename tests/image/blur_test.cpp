#include "kith/image/blur.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/support/pictures.h"

namespace kith {
namespace {

// The picture repeated by mirrors, at any place.
int mirrored_at(const Image& image, int x, int y, int c) {
  while (x < 0 || x >= image.width)
    x = x < 0 ? -1 - x : 2 * image.width - 1 - x;
  while (y < 0 || y >= image.height) {
    y = y < 0 ? -1 - y : 2 * image.height - 1 - y;
  }
  return image.row(y)[x * image.channels + c];
}

double direct_blur(const Image& image, double sigma, int x, int y, int c) {
  const int radius = static_cast<int>(std::ceil(4 * sigma));
  double sum = 0.0;
  double weights = 0.0;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const double weight =
          std::exp(-(dx * dx + dy * dy) / (2.0 * sigma * sigma));
      weights += weight;
      sum += weight * mirrored_at(image, x + dx, y + dy, c);
    }
  }
  return sum / weights;
}

TEST(GaussianBlur, EqualsTheSumOverThePlane) {
  struct Shape {
    int width, height, channels;
  };
  for (const Shape shape : {Shape{19, 13, 3}, Shape{1, 1, 1}, Shape{1, 7, 3},
                            Shape{3, 2, 1}, Shape{30, 2, 1}}) {
    const Image image =
        noise_picture(shape.width, shape.height, shape.channels);
    for (const double sigma : {0.3, 1.0, 2.7}) {
      const Image blurred = gaussian_blur(image, sigma);
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x) {
          for (int c = 0; c < shape.channels; ++c) {
            ASSERT_NEAR(blurred.row(y)[x * shape.channels + c],
                        direct_blur(image, sigma, x, y, c), 0.501);
          }
        }
      }
    }
  }
}

TEST(GaussianBlur, KeepsFlatPictures) {
  for (const int value : {0, 1, 127, 254, 255}) {
    const Image image = flat_picture(21, 9, 3, value);
    EXPECT_EQ(gaussian_blur(image, 2.0).pixels, image.pixels);
  }
}

TEST(GaussianBlur, NeedsAKernel) {
  EXPECT_THROW(gaussian_blur(Image(2, 2, 1), 0.0), std::logic_error);
}

}  // namespace
}  // namespace kith
