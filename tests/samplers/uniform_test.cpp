#include "kith/samplers/uniform.h"

#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/samplers/plans.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

TEST(Uniform, UsesImagesOnceAndDropsTheRest) {
  const SamplerInput input = classes_of({40, 37});
  const Batches batches = UniformSampler({}, input).epoch(0);
  ASSERT_EQ(batches.size(), 2u);
  for (const auto& batch : batches) EXPECT_EQ(batch.size(), 32u);
  EXPECT_EQ(count_images(batches).size(), 64u);
}

TEST(Uniform, KeepsASmallerLastBatchOnRequest) {
  const SamplerInput input = classes_of({40, 37});
  const UniformSampler sampler({.batch = 20, .drop_last = false}, input);
  const Batches batches = sampler.epoch(0);
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_EQ(batches[2].size(), 20u);
  EXPECT_EQ(batches[3].size(), 17u);
  EXPECT_EQ(count_images(batches).size(), 77u);
}

TEST(Uniform, TakesAllInOneBatchOnRequestOnly) {
  const SamplerInput input = classes_of({5});
  EXPECT_EQ(UniformSampler({.drop_last = false}, input).epoch(0)[0].size(), 5u);
  expect_error<ConfigError>([&] { UniformSampler({}, input); },
                            "'uniform.batch'", "32", "5 images");
  expect_error<ConfigError>(
      [] { UniformSampler({.drop_last = false}, SamplerInput()); },
      "no training images");
}

}  // namespace
}  // namespace kith
