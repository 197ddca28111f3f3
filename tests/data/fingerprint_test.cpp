#include "kith/data/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/near_duplicates.h"
#include "kith/image/colour.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"
#include "kith/image/resize.h"
#include "tests/support/expect_error.h"
#include "tests/support/scene.h"

namespace kith {
namespace {

Image encoded_again(const Image& image, int quality) {
  return decode_image(encode_jpeg(image, quality), "picture");
}

bool same_picture(const Fingerprint& a, const Fingerprint& b) {
  return hash_distance(a.bits, b.bits) <= kDuplicateBits &&
         thumbnail_correlation(a, b) >= kDuplicateCorrelation;
}

TEST(Fingerprint, BitsSayWhereItGetsBrighter) {
  Image image(17, 16, 1);  // the size of the thumbnail: no resizing
  for (int x = 0; x < 17; ++x) image.row(2)[x] = static_cast<uint8_t>(10 * x);
  image.row(5)[7] = 4;  // brighter by more than 3, at bit 5 * 16 + 6
  image.row(6)[7] = 3;  // but not here
  const Fingerprint print = fingerprint(image);
  EXPECT_EQ(print.bits[0], uint64_t{0xffff} << 32);
  EXPECT_EQ(print.bits[1], uint64_t{1} << (5 * 16 + 6 - 64));
  EXPECT_EQ(print.bits[2], 0U);
  EXPECT_EQ(print.bits[3], 0U);
  EXPECT_TRUE(std::equal(print.grey.begin(), print.grey.end(),
                         image.pixels.begin(), image.pixels.end()));
}

TEST(Fingerprint, FindsAPictureAgainAfterSmallChanges) {
  for (int64_t seed = 0; seed < 40; ++seed) {
    const Image image = draw_scene(seed);
    const Fingerprint own = fingerprint(image);
    EXPECT_FALSE(own.flat);
    EXPECT_TRUE(same_picture(own, fingerprint(encoded_again(image, 50))));
    EXPECT_TRUE(same_picture(own, fingerprint(resize(image, 80, 60))));
    EXPECT_TRUE(same_picture(own, fingerprint(resize(image, 320, 240))));
    Image darker = image;
    adjust_brightness(darker, 0.9);
    EXPECT_TRUE(same_picture(own, fingerprint(darker)));
    EXPECT_TRUE(same_picture(
        own, fingerprint(encoded_again(resize(darker, 80, 60), 50))));
    EXPECT_TRUE(same_picture(own, fingerprint(to_channels(image, 1))));
  }
}

TEST(Fingerprint, TellsPicturesApart) {
  std::vector<Fingerprint> prints;
  for (int64_t seed = 0; seed < 60; ++seed) {
    prints.push_back(fingerprint(draw_scene(seed)));
  }
  for (size_t i = 0; i < prints.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(same_picture(prints[i], prints[j])) << i << " " << j;
    }
  }
}

TEST(Fingerprint, CorrelationIsPearsons) {
  const Fingerprint a = fingerprint(draw_scene(1));
  const Fingerprint b = fingerprint(draw_scene(2));
  const auto mean = [](const Fingerprint& print) {
    double sum = 0;
    for (uint8_t grey : print.grey) sum += grey;
    return sum / static_cast<double>(print.grey.size());
  };
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.grey.size(); ++i) {
    const double x = a.grey[i] - mean(a);
    const double y = b.grey[i] - mean(b);
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  EXPECT_NEAR(thumbnail_correlation(a, b), ab / std::sqrt(aa * bb), 1e-12);
  EXPECT_DOUBLE_EQ(thumbnail_correlation(a, a), 1);
  EXPECT_EQ(thumbnail_correlation(a, fingerprint(Image(9, 9, 3))), 0);
}

TEST(Fingerprint, KnowsPicturesThatShowNothing) {
  Image image(50, 40, 3);
  EXPECT_TRUE(fingerprint(image).flat);
  EXPECT_TRUE(fingerprint(Image(1, 1, 1)).flat);
  for (int y = 0; y < 40; ++y) std::fill_n(image.row(y), 75, uint8_t{7});
  EXPECT_TRUE(fingerprint(image).flat);  // deviates by 3.5
  for (int y = 0; y < 40; ++y) std::fill_n(image.row(y), 75, uint8_t{12});
  EXPECT_FALSE(fingerprint(image).flat);
}

/// Scenes; from `broken` on there are none.
class Scenes final : public DataSet {
 public:
  explicit Scenes(int64_t broken) : broken_(broken) { list_.items.resize(200); }

 protected:
  StoredImage read(int64_t index) const override {
    if (index >= broken_) throw DataError("no scene " + std::to_string(index));
    return draw_scene(index, 20 + static_cast<int>(index % 7), 30);
  }

 private:
  int64_t broken_;
};

TEST(Fingerprints, AreInTheOrderAskedFor) {
  const Scenes data(200);
  std::vector<int64_t> indices;
  for (int64_t i = 150; i > 0; i -= 2) indices.push_back(i);
  const auto one = fingerprints(data, indices, 1, silent_progress());
  const auto many = fingerprints(data, indices, 4, silent_progress());
  ASSERT_EQ(one.size(), indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    const Fingerprint wanted = fingerprint(data.load(indices[i]));
    EXPECT_EQ(one[i].grey, wanted.grey);
    EXPECT_EQ(one[i].bits, wanted.bits);
    EXPECT_EQ(many[i].grey, wanted.grey);
  }
  EXPECT_TRUE(fingerprints(data, {}, 2, silent_progress()).empty());
}

TEST(Fingerprints, ThrowTheFirstError) {
  const Scenes data(100);
  expect_error<DataError>(
      [&] {
        fingerprints(data, {5, 120, 6, 110, 101}, 4, silent_progress());
      },
      "no scene 120");
}

}  // namespace
}  // namespace kith
