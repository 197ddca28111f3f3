#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/samplers/sampler.h"
#include "tests/samplers/plans.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

/// What every sampler without embeddings promises.
class Samplers : public ::testing::TestWithParam<std::string> {
 protected:
  static SamplerInput input(uint64_t seed = 0) {
    SamplerInput data = classes_of({9, 14, 8, 30, 12, 11, 2, 17}, seed);
    for (const int64_t label : data.labels) {
      data.categories.push_back(label < 40 ? "one" : "two");
    }
    return data;
  }

  static std::unique_ptr<Sampler> make(const SamplerInput& data,
                                       const std::string& batch = "12") {
    return make_sampler("{name: " + GetParam() + ", batch: " + batch + "}",
                        data);
  }
};

TEST_P(Samplers, DependOnSeedAndEpochAlone) {
  const auto sampler = make(input(5));
  const Batches first = sampler->epoch(3);
  EXPECT_NE(sampler->epoch(4), first);
  EXPECT_EQ(sampler->epoch(3), first);
  EXPECT_EQ(make(input(5))->epoch(3), first);
  EXPECT_NE(make(input(6))->epoch(3), first);
}

TEST_P(Samplers, FillBatchesWithTrainingImagesEachOnce) {
  const SamplerInput data = input();
  const std::map<int64_t, int64_t> labels = labels_of(data);
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    for (const std::vector<int64_t>& batch : make(data)->epoch(epoch)) {
      EXPECT_EQ(batch.size(), 12u);
      for (const int64_t image : batch) EXPECT_EQ(labels.count(image), 1u);
      // spc draws a class with replacement: one of two images may be drawn up.
      EXPECT_TRUE(GetParam() == "spc" || !has_repeats(batch));
    }
  }
}

TEST_P(Samplers, UseEveryImageOverTheEpochs) {
  const SamplerInput data = input();
  const auto sampler = make(data);
  std::set<int64_t> seen;
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    for (const auto& batch : sampler->epoch(epoch)) {
      seen.insert(batch.begin(), batch.end());
    }
  }
  EXPECT_EQ(seen.size(), data.indices.size());
}

TEST_P(Samplers, RefuseABatchLargerThanTheData) {
  expect_error<ConfigError>([&] { make(input(), "104"); }, "'sampler.batch'",
                            "104", "103 images", "smaller");
  expect_error<ConfigError>([&] { make(input(), "1"); }, "sampler.batch");
  expect_error<ConfigError>([&] { make(SamplerInput()); }, "sampler.batch",
                            "0 images");
}

TEST(SamplerRegistry, HasFactsOfAll) {
  for (const auto& [name, entry] : sampler_registry().entries()) {
    SCOPED_TRACE(name);
    EXPECT_STRNE(entry.facts.formula, "");
    EXPECT_STRNE(entry.facts.source, "");
    EXPECT_STRNE(entry.facts.cost, "");
  }
}

TEST_P(Samplers, WantNoEmbeddings) {
  EXPECT_FALSE(make(input())->wants_pool());
  EXPECT_FALSE(make(input())->rebuilds_pool());
}

INSTANTIATE_TEST_SUITE_P(All, Samplers,
                         ::testing::Values("spc", "spc_random", "uniform",
                                           "whole_classes", "category_hard"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace kith
