#include "kith/samplers/spc_random.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/samplers/plans.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

void expect_pairs(const SamplerInput& input, int64_t batch_size) {
  const std::map<int64_t, int64_t> labels = labels_of(input);
  const SpcRandomSampler sampler({.batch = batch_size}, input);
  const size_t batches = input.indices.size() / static_cast<size_t>(batch_size);
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    const Batches plan = sampler.epoch(epoch);
    EXPECT_EQ(plan.size(), batches);
    for (const std::vector<int64_t>& batch : plan) {
      EXPECT_EQ(batch.size(), static_cast<size_t>(batch_size));
      EXPECT_FALSE(has_repeats(batch));
      EXPECT_LT(count_labels(batch, labels).size(), batch.size());
    }
  }
}

TEST(SpcRandom, HasAPairInEveryBatch) {
  expect_pairs(classes_of(std::vector<int64_t>(100, 3)), 5);
  expect_pairs(classes_of(std::vector<int64_t>(100, 3)), 2);
}

TEST(SpcRandom, FindsTheOnlyPair) {
  std::vector<int64_t> sizes(60, 1);
  sizes[17] = 2;
  expect_pairs(classes_of(sizes), 2);
  expect_pairs(classes_of(sizes), 10);
}

TEST(SpcRandom, TakesAnyOtherWhereAllMatesAreIn) {
  expect_pairs(classes_of({4}), 4);
  expect_pairs(classes_of({2, 2}), 4);
  expect_pairs(classes_of({3, 1, 1}), 5);
}

// Without the last image, an image of a large data set seldom has a mate.
TEST(SpcRandom, IsUniformButForTheLastImage) {
  const SamplerInput input = classes_of(std::vector<int64_t>(1000, 2));
  const SpcRandomSampler sampler({.batch = 4}, input);
  const std::map<int64_t, int64_t> labels = labels_of(input);
  int64_t mates = 0;
  const Batches plan = sampler.epoch(0);
  for (const std::vector<int64_t>& batch : plan) {
    const std::vector<int64_t> others(batch.begin(), batch.end() - 1);
    mates += count_labels(others, labels).size() < others.size();
  }
  EXPECT_LT(mates, 10);
  EXPECT_GT(count_images(plan).size(), 1200u);  // 2000 (1 - 1/e) = 1264
}

TEST(SpcRandom, RefusesDataWithoutPairs) {
  expect_error<ConfigError>(
      [] {
        SpcRandomSampler({.batch = 4}, classes_of(std::vector<int64_t>(8, 1)));
      },
      "spc_random", "two images", "sampler.name: uniform");
}

}  // namespace
}  // namespace kith
