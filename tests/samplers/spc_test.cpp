#include "kith/samplers/spc.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/samplers/plans.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Spc, DrawsGroupsOfClassMates) {
  const LogCapture log;
  const SamplerInput input = classes_of(std::vector<int64_t>(40, 12));
  const std::map<int64_t, int64_t> labels = labels_of(input);
  const SpcSampler sampler({.batch = 32, .per_class = 4}, input);
  bool class_repeats = false;
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    const Batches batches = sampler.epoch(epoch);
    EXPECT_EQ(batches.size(), 480u / 32);
    for (const std::vector<int64_t>& batch : batches) {
      ASSERT_EQ(batch.size(), 32u);
      for (size_t i = 0; i < batch.size(); ++i) {
        EXPECT_EQ(labels.at(batch[i]), labels.at(batch[i / 4 * 4]));
      }
      class_repeats |= count_labels(batch, labels).size() < 8;
      // A class of 12 drawn up to three times has enough.
      bool often = false;
      for (const auto& [label, count] : count_labels(batch, labels)) {
        often |= count > 12;
      }
      EXPECT_TRUE(often || !has_repeats(batch));
    }
  }
  EXPECT_TRUE(class_repeats);  // drawn with replacement
  EXPECT_THAT(log.notes(), IsEmpty());
}

TEST(Spc, DrawsClassesEquallyOftenWhateverTheirSize) {
  const SamplerInput input = classes_of({2, 50, 8});
  const SpcSampler sampler({.batch = 6}, input);
  const std::map<int64_t, int64_t> labels = labels_of(input);
  std::map<int64_t, int64_t> counts;
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    for (const auto& batch : sampler.epoch(epoch)) {
      for (const auto& [label, n] : count_labels(batch, labels)) {
        counts[label] += n;
      }
    }
  }
  for (const auto& [label, n] : counts) EXPECT_NEAR(n, 2000, 200);
}

TEST(Spc, RepeatsImagesOfSmallClassesAndSaysSo) {
  const LogCapture log;
  const SpcSampler sampler({.batch = 6, .per_class = 3}, classes_of({1, 1, 4}));
  EXPECT_THAT(log.notes(),
              ElementsAre(AllOf(HasSubstr("2 classes"),
                                HasSubstr("than sampler.per_class = "),
                                HasSubstr("repeat"))));
  EXPECT_EQ(sampler.epoch(0).size(), 1u);
  EXPECT_EQ(sampler.epoch(0)[0].size(), 6u);
}

TEST(Spc, HasThePublishedDefaultsAndRefusesUnevenGroups) {
  const SamplerInput input = classes_of(std::vector<int64_t>(20, 20));
  const Batches batches = SpcSampler({}, input).epoch(0);
  EXPECT_EQ(batches.size(), 400u / 112);
  EXPECT_EQ(batches[0].size(), 112u);
  expect_error<ConfigError>(
      [&] { SpcSampler({.batch = 10, .per_class = 4}, input); }, "'spc.batch'",
      "10", "multiple", "'spc.per_class'", "4");
}

}  // namespace
}  // namespace kith
