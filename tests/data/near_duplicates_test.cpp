#include "kith/data/near_duplicates.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/rng.h"
#include "kith/image/resize.h"
#include "tests/support/scene.h"

namespace kith {
namespace {

using Triple = std::tuple<int, int64_t, int64_t>;

std::vector<Triple> triples(const NearDuplicates& found) {
  std::vector<Triple> result;
  for (const DuplicatePair& p : found.pairs) {
    result.emplace_back(p.distance, p.train, p.test);
  }
  return result;
}

/// Compares every pair, as the definition says.
std::vector<Triple> all_pairs(const std::vector<Fingerprint>& train,
                              const std::vector<Fingerprint>& test) {
  std::vector<Triple> result;
  for (size_t i = 0; i < train.size(); ++i) {
    for (size_t j = 0; j < test.size(); ++j) {
      const int distance = hash_distance(train[i].bits, test[j].bits);
      if (train[i].flat || test[j].flat || distance > kDuplicateBits ||
          thumbnail_correlation(train[i], test[j]) < kDuplicateCorrelation) {
        continue;
      }
      result.emplace_back(distance, static_cast<int64_t>(i),
                          static_cast<int64_t>(j));
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// Thumbnails of scenes with noise, so that pairs lie on both sides of the
/// thresholds; every ninth is flat.
std::vector<Fingerprint> noisy_scenes(int64_t count, int64_t key) {
  std::vector<Fingerprint> prints;
  for (int64_t i = 0; i < count; ++i) {
    Rng rng(5, Stream::kReport, {key, i});
    Image image = resize(draw_scene(i % 12, 64, 48), 17, 16);
    const int64_t noise = rng.between(0, 10);
    for (uint8_t& pixel : image.pixels) {
      const int64_t value = pixel + rng.between(-noise, noise);
      pixel = static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255));
    }
    prints.push_back(fingerprint(i % 9 == 8 ? Image(8, 8, 1) : image));
  }
  return prints;
}

TEST(NearDuplicates, EqualAComparisonOfAllPairs) {
  const auto train = noisy_scenes(150, 1);
  const auto test = noisy_scenes(170, 2);
  const auto wanted = all_pairs(train, test);
  ASSERT_GT(wanted.size(), 200U);
  ASSERT_LT(wanted.size(), 1500U);  // of about 1700 pairs of the same scene
  const NearDuplicates found = near_duplicates(train, test, 100000);
  EXPECT_EQ(triples(found), wanted);
  EXPECT_EQ(found.count, static_cast<int64_t>(wanted.size()));
  EXPECT_EQ(found.train_flat, 16);
  EXPECT_EQ(found.test_flat, 18);
  std::set<int64_t> of_train;
  std::set<int64_t> of_test;
  for (const auto& [distance, i, j] : wanted) {
    of_train.insert(i);
    of_test.insert(j);
  }
  EXPECT_EQ(found.train_pictures, static_cast<int64_t>(of_train.size()));
  EXPECT_EQ(found.test_pictures, static_cast<int64_t>(of_test.size()));
}

TEST(NearDuplicates, ListTheNearestUpToTheLimit) {
  const auto train = noisy_scenes(60, 1);
  const auto test = noisy_scenes(60, 2);
  const auto wanted = all_pairs(train, test);
  ASSERT_GT(wanted.size(), 50U);
  for (size_t limit : {size_t{0}, size_t{1}, size_t{7}, size_t{50}}) {
    const NearDuplicates found =
        near_duplicates(train, test, static_cast<int64_t>(limit));
    EXPECT_EQ(found.count, static_cast<int64_t>(wanted.size()));
    EXPECT_EQ(triples(found),
              std::vector<Triple>(
                  wanted.begin(),
                  wanted.begin() + static_cast<std::ptrdiff_t>(limit)));
  }
}

TEST(NearDuplicates, TheSamePictureHasDistanceZero) {
  const std::vector<Fingerprint> train = {fingerprint(draw_scene(1)),
                                          fingerprint(draw_scene(2))};
  const std::vector<Fingerprint> test = {fingerprint(draw_scene(3)),
                                         fingerprint(draw_scene(1)),
                                         fingerprint(draw_scene(1))};
  EXPECT_EQ(triples(near_duplicates(train, test, 10)),
            (std::vector<Triple>{{0, 0, 1}, {0, 0, 2}}));
}

TEST(NearDuplicates, FlatPicturesAreCountedNotPaired) {
  const std::vector<Fingerprint> flat(50, fingerprint(Image(30, 20, 3)));
  const NearDuplicates found = near_duplicates(flat, flat, 10);
  EXPECT_EQ(found.count, 0);
  EXPECT_EQ(found.train_flat, 50);
  EXPECT_EQ(found.test_flat, 50);
  EXPECT_EQ(near_duplicates({}, {}, 10).count, 0);
}

TEST(NearDuplicates, JsonNamesPicturesAndClasses) {
  ImageList list;
  list.items.resize(3);
  list.items[0].path = "a/0.jpg";
  list.items[1].path = "a/1.jpg";
  list.items[1].label = 4;
  list.items[2].path = "b/\xff.jpg";  // not UTF-8
  list.items[2].label = 5;
  list.class_names = {{4, "vier"}};
  NearDuplicates found;
  found.pairs = {{1, 0, 3}};
  found.count = 8;
  found.train_pictures = 2;
  found.test_pictures = 3;
  found.test_flat = 6;
  const auto json =
      nlohmann::json::parse(near_duplicates_json(found, list, {0, 1}, {2}));
  EXPECT_EQ(json["count"], 8);
  EXPECT_EQ(json["listed"], 1);
  EXPECT_EQ(json["train_images"], 2);
  EXPECT_EQ(json["test_images"], 3);
  EXPECT_EQ(json["train_flat"], 0);
  EXPECT_EQ(json["test_flat"], 6);
  ASSERT_EQ(json["pairs"].size(), 1U);
  const auto& pair = json["pairs"][0];
  EXPECT_EQ(pair["distance"], 3);
  EXPECT_EQ(pair["train"], "a/1.jpg");
  EXPECT_EQ(pair["train_class"], "vier");
  EXPECT_EQ(pair["test"], "b/\\xff.jpg");
  EXPECT_EQ(pair["test_bytes"], "622fff2e6a7067");
  EXPECT_EQ(pair["test_class"], "5");
}

}  // namespace
}  // namespace kith
