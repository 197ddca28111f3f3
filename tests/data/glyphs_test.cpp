#include "kith/data/glyphs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kith {
namespace {

constexpr int64_t kPixels = kGlyphSize * kGlyphSize;
constexpr int64_t kTestClasses = kGlyphClasses - kGlyphTrainClasses;
constexpr int64_t kTestImages = kTestClasses * kGlyphImages;

// FNV-1a over all images of the first classes.
uint64_t hash_classes(uint64_t seed, int64_t classes) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (int64_t id = 0; id < classes; ++id) {
    for (int64_t image = 0; image < kGlyphImages; ++image) {
      for (uint8_t pixel : draw_glyph(seed, id, image).pixels) {
        hash = (hash ^ pixel) * 0x100000001b3ULL;
      }
    }
  }
  return hash;
}

// The test half, [kTestImages, kPixels].
std::vector<uint8_t> test_half(uint64_t seed) {
  std::vector<uint8_t> rows;
  rows.reserve(static_cast<size_t>(kTestImages * kPixels));
  for (int64_t i = 0; i < kTestImages; ++i) {
    const Image image = draw_glyph(seed, kGlyphTrainClasses + i / kGlyphImages,
                                   i % kGlyphImages);
    rows.insert(rows.end(), image.pixels.begin(), image.pixels.end());
  }
  return rows;
}

// Products of raw pixels are exact in integers: 4096 * 255^2 < 2^31.
int32_t dot(const uint8_t* p, const uint8_t* q) {
  int32_t sum = 0;
  for (int64_t i = 0; i < kPixels; ++i) sum += p[i] * q[i];
  return sum;
}

// Nearest-neighbour recall under four measures.
struct Recall {
  double euclidean = 0.0;
  double cosine = 0.0;
  double centred_euclidean = 0.0;  // each image less its mean
  double centred_cosine = 0.0;
};

// What a nearest neighbour needs to know about a row.
struct RowMoments {
  double mean;
  double norm_sq;          // of the raw row
  double centred_norm_sq;  // of the row less its mean
};

using Scores = std::array<double, 4>;  // higher is nearer; order of Recall

Scores compare(double product, const RowMoments& query,
               const RowMoments& other) {
  const double centred = product - kPixels * query.mean * other.mean;
  return {2.0 * product - other.norm_sq, product / std::sqrt(other.norm_sq),
          2.0 * centred - other.centred_norm_sq,
          centred / std::sqrt(other.centred_norm_sq)};
}

// Share of 400 spread test images whose nearest other image among all test
// images is of its own class.
Recall recall_at_1(const std::vector<uint8_t>& rows) {
  const auto row = [&rows](int64_t i) { return rows.data() + i * kPixels; };
  std::vector<RowMoments> moments;
  for (int64_t i = 0; i < kTestImages; ++i) {
    const double mean =
        std::accumulate(row(i), row(i) + kPixels, 0.0) / kPixels;
    const double norm_sq = dot(row(i), row(i));
    moments.push_back({mean, norm_sq, norm_sq - kPixels * mean * mean});
  }
  constexpr int64_t kStep = 10;
  Scores hits = {};
  for (int64_t start = 0; start < kTestImages; start += kStep) {
    // The offset makes the queries cover every image id of a class.
    const int64_t query = start + start / kGlyphImages % kStep;
    Scores best;
    best.fill(-std::numeric_limits<double>::infinity());
    std::array<int64_t, 4> found = {};
    for (int64_t i = 0; i < kTestImages; ++i) {
      if (i == query) continue;
      const Scores scores =
          compare(dot(row(query), row(i)), moments[static_cast<size_t>(query)],
                  moments[static_cast<size_t>(i)]);
      for (size_t k = 0; k < scores.size(); ++k) {
        if (scores[k] <= best[k]) continue;
        best[k] = scores[k];
        found[k] = i;
      }
    }
    for (size_t k = 0; k < found.size(); ++k) {
      if (found[k] / kGlyphImages == query / kGlyphImages) hits[k] += 1.0;
    }
  }
  constexpr double kQueries = static_cast<double>(kTestImages / kStep);
  return {hits[0] / kQueries, hits[1] / kQueries, hits[2] / kQueries,
          hits[3] / kQueries};
}

TEST(Glyphs, AreGreySquares) {
  const Image image = draw_glyph(0, 0, 0);
  EXPECT_EQ(image.width, kGlyphSize);
  EXPECT_EQ(image.height, kGlyphSize);
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.pixels.size(), static_cast<size_t>(kPixels));
}

// Published numbers depend on these pixels: if this fails, the data set has
// become another one.
TEST(Glyphs, PixelsNeverChange) {
  EXPECT_EQ(hash_classes(0, 8), 0xa9dea744c3aa674cULL);
}

TEST(Glyphs, SameIdsGiveTheSamePixels) {
  const Image first = draw_glyph(7, 3, 2);
  draw_glyph(7, 3, 1);
  EXPECT_EQ(draw_glyph(7, 3, 2).pixels, first.pixels);
}

TEST(Glyphs, EveryArgumentMatters) {
  const std::vector<uint8_t> pixels = draw_glyph(7, 3, 2).pixels;
  EXPECT_NE(draw_glyph(8, 3, 2).pixels, pixels);
  EXPECT_NE(draw_glyph(7, 4, 2).pixels, pixels);
  EXPECT_NE(draw_glyph(7, 3, 3).pixels, pixels);
}

TEST(Glyphs, NoTwoImagesAreEqual) {
  std::set<std::string> images;
  for (int64_t id = 0; id < 20; ++id) {
    for (int64_t image = 0; image < kGlyphImages; ++image) {
      const std::vector<uint8_t> pixels = draw_glyph(0, id, image).pixels;
      images.emplace(pixels.begin(), pixels.end());
    }
  }
  EXPECT_EQ(images.size(), size_t{20} * kGlyphImages);
}

TEST(Glyphs, ShowDarkInkOnLightPaper) {
  for (int64_t id = 0; id < kGlyphClasses; ++id) {
    const Image image = draw_glyph(0, id, id % kGlyphImages);
    const auto dark = std::count_if(image.pixels.begin(), image.pixels.end(),
                                    [](uint8_t pixel) { return pixel < 150; });
    EXPECT_GT(dark, kPixels / 100) << "class " << id;
    EXPECT_LT(dark, kPixels / 2) << "class " << id;
  }
}

// A data set that raw pixels solve says nothing about what was learnt.
TEST(Glyphs, RawPixelsDoNotSolveThem) {
  const Recall recall = recall_at_1(test_half(0));
  EXPECT_LE(recall.euclidean, 0.60);
  EXPECT_LE(recall.cosine, 0.60);
  EXPECT_LE(recall.centred_euclidean, 0.60);
  EXPECT_LE(recall.centred_cosine, 0.60);
  // Images of a class are nevertheless alike.
  EXPECT_GE(recall.euclidean, 0.15);
}

}  // namespace
}  // namespace kith
