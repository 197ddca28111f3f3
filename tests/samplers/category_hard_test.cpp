#include "kith/samplers/category_hard.h"

#include <map>
#include <set>
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
using ::testing::Not;

using Counts = std::map<std::string, int64_t>;

/// Classes of `size` images each, `classes` of them by category.
SamplerInput categories_of(const Counts& classes, int64_t size) {
  std::vector<int64_t> sizes;
  std::vector<std::string> names;  // by class
  for (const auto& [name, count] : classes) {
    sizes.insert(sizes.end(), static_cast<size_t>(count), size);
    names.insert(names.end(), static_cast<size_t>(count), name);
  }
  SamplerInput input = classes_of(sizes);
  for (const int64_t label : input.labels) {
    input.categories.push_back(names[static_cast<size_t>(label / 10)]);
  }
  return input;
}

Counts count_categories(const std::vector<int64_t>& batch,
                        const SamplerInput& input) {
  Counts counts;
  for (const int64_t image : batch) {
    ++counts[input.categories[static_cast<size_t>(image - 1000)]];
  }
  return counts;
}

TEST(CategoryHard, TakesHalfABatchOfEachOfEveryPair) {
  const LogCapture log;
  const SamplerInput input = categories_of(
      {{"bicycle", 10}, {"chair", 20}, {"fan", 8}, {"mug", 9}}, 3);
  const std::map<int64_t, int64_t> labels = labels_of(input);
  const CategoryHardSampler sampler({.batch = 12, .batches_per_pair = 3},
                                    input);
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const Batches batches = sampler.epoch(epoch);
    EXPECT_EQ(batches.size(), 6u * 3);  // 4 over 2, 3 each
    std::map<std::set<std::string>, int> pairs;
    for (const std::vector<int64_t>& batch : batches) {
      EXPECT_FALSE(has_repeats(batch));
      std::set<std::string> pair;
      for (const auto& [name, count] : count_categories(batch, input)) {
        EXPECT_EQ(count, 6);
        pair.insert(name);
      }
      EXPECT_EQ(pair.size(), 2u);
      ++pairs[pair];
      // 6 is two whole classes of three.
      for (const auto& [label, count] : count_labels(batch, labels)) {
        EXPECT_EQ(count, 3);
      }
    }
    EXPECT_EQ(pairs.size(), 6u);
    for (const auto& [pair, count] : pairs) EXPECT_EQ(count, 3);
  }
  EXPECT_THAT(log.notes(), IsEmpty());
}

TEST(CategoryHard, UsesAllImagesOfACategoryBeforeOneRepeats) {
  const SamplerInput input = categories_of({{"a", 7}, {"b", 12}, {"c", 9}}, 4);
  const CategoryHardSampler sampler({.batch = 10}, input);
  Counts least, most;
  for (const auto& [image, count] : count_images(sampler.epoch(1))) {
    const std::string& name =
        input.categories[static_cast<size_t>(image - 1000)];
    least.try_emplace(name, count);
    least[name] = std::min(least[name], count);
    most[name] = std::max(most[name], count);
  }
  // 10 batches of each category, 5 images each: 28, 48 and 36 of them.
  EXPECT_EQ(least, (Counts{{"a", 1}, {"b", 1}, {"c", 1}}));
  EXPECT_EQ(most, (Counts{{"a", 2}, {"b", 2}, {"c", 2}}));
}

TEST(CategoryHard, CountsThePublishedEpochs) {
  Counts products, clothes;
  for (char c = 'a'; c < 'a' + 23; ++c) {
    if (c < 'a' + 12) products[std::string(1, c)] = 10;
    clothes[std::string(1, c)] = 10;
  }
  EXPECT_EQ(CategoryHardSampler({.batch = 64}, categories_of(products, 5))
                .epoch(0)
                .size(),
            330u);
  EXPECT_EQ(CategoryHardSampler({.batch = 64, .batches_per_pair = 2},
                                categories_of(clothes, 5))
                .epoch(0)
                .size(),
            506u);
}

TEST(CategoryHard, PairsCategoriesWithImagesThatHaveNone) {
  const LogCapture log;
  const SamplerInput input =
      categories_of({{"", 40}, {"van", 11}, {"bus", 4}}, 2);
  const CategoryHardSampler sampler({.batch = 8}, input);
  EXPECT_THAT(log.notes(),
              ElementsAre(AllOf(HasSubstr("80 images have no category"),
                                HasSubstr("batches_per_pair is not used"))));
  const Batches batches = sampler.epoch(0);
  EXPECT_EQ(batches.size(), 6u + 2);  // 22 and 8 images, 4 at a time
  Counts counts;
  std::set<int64_t> seen;
  for (const std::vector<int64_t>& batch : batches) {
    const Counts categories = count_categories(batch, input);
    EXPECT_EQ(categories.size(), 2u);
    for (const auto& [name, count] : categories) {
      EXPECT_EQ(count, 4);
      ++counts[name];
    }
    seen.insert(batch.begin(), batch.end());
  }
  EXPECT_EQ(counts, (Counts{{"", 8}, {"bus", 2}, {"van", 6}}));
  EXPECT_EQ(seen.size(), 22u + 8 + 32);  // every image of a category
}

TEST(CategoryHard, OfOneCategoryABatchIsOfThatOnly) {
  const LogCapture log;
  const SamplerInput input = categories_of({{"a", 6}, {"b", 9}, {"c", 5}}, 2);
  const CategoryHardSampler sampler(
      {.batch = 8, .categories_per_batch = 1, .batches_per_pair = 4}, input);
  Counts batches;
  for (const std::vector<int64_t>& batch : sampler.epoch(0)) {
    EXPECT_EQ(batch.size(), 8u);
    EXPECT_FALSE(has_repeats(batch));
    const Counts counts = count_categories(batch, input);
    EXPECT_EQ(counts.size(), 1u);
    ++batches[counts.begin()->first];
  }
  EXPECT_EQ(batches, (Counts{{"a", 4}, {"b", 4}, {"c", 4}}));
  EXPECT_THAT(log.notes(), IsEmpty());
}

TEST(CategoryHard, OfOneCategoryImagesWithoutOneAreLeftOut) {
  const LogCapture log;
  const SamplerInput input = categories_of({{"", 40}, {"van", 11}}, 2);
  const CategoryHardSampler sampler({.batch = 8, .categories_per_batch = 1},
                                    input);
  EXPECT_THAT(log.notes(), ElementsAre(HasSubstr("they are not used")));
  const Batches batches = sampler.epoch(0);
  EXPECT_EQ(batches.size(), 3u);  // 22 images, 8 at a time
  for (const std::vector<int64_t>& batch : batches) {
    EXPECT_EQ(count_categories(batch, input), (Counts{{"van", 8}}));
  }
}

TEST(CategoryHard, OfThreeCategoriesAnEpochIsEverySetOfThree) {
  const SamplerInput input =
      categories_of({{"a", 6}, {"b", 9}, {"c", 5}, {"d", 4}, {"e", 7}}, 2);
  const CategoryHardSampler sampler(
      {.batch = 12, .categories_per_batch = 3, .batches_per_pair = 2}, input);
  std::map<std::set<std::string>, int> sets;
  for (const std::vector<int64_t>& batch : sampler.epoch(3)) {
    EXPECT_FALSE(has_repeats(batch));
    std::set<std::string> names;
    for (const auto& [name, count] : count_categories(batch, input)) {
      EXPECT_EQ(count, 4);
      names.insert(name);
    }
    ++sets[names];
  }
  EXPECT_EQ(sets.size(), 10u);  // 5 over 3
  for (const auto& [names, count] : sets) {
    EXPECT_EQ(names.size(), 3u);
    EXPECT_EQ(count, 2);
  }
}

TEST(CategoryHard, OfThreeCategoriesTheLargerOnesFillUp) {
  const LogCapture log;
  const SamplerInput input = categories_of({{"a", 20}, {"b", 1}, {"c", 4}}, 2);
  const CategoryHardSampler sampler(
      {.batch = 18, .categories_per_batch = 3, .batches_per_pair = 1}, input);
  EXPECT_THAT(log.notes(),
              ElementsAre(AllOf(HasSubstr("'b' (2)"), HasSubstr("1 / 3 of"))));
  const Batches batches = sampler.epoch(0);
  ASSERT_EQ(batches.size(), 1u);
  // 2 of b, which leaves 16: 8 of each of the others.
  EXPECT_EQ(count_categories(batches[0], input),
            (Counts{{"a", 8}, {"b", 2}, {"c", 8}}));
}

TEST(CategoryHard, FillsUpWhereACategoryIsSmall) {
  const LogCapture log;
  const SamplerInput input = categories_of({{"a", 20}, {"b", 1}, {"c", 2}}, 3);
  const CategoryHardSampler sampler({.batch = 16, .batches_per_pair = 1},
                                    input);
  EXPECT_THAT(log.notes(),
              ElementsAre(AllOf(HasSubstr("'b' (3)"), HasSubstr("'c' (6)"),
                                Not(HasSubstr("'a'")))));
  std::vector<Counts> batches;
  for (const std::vector<int64_t>& batch : sampler.epoch(0)) {
    EXPECT_FALSE(has_repeats(batch));
    batches.push_back(count_categories(batch, input));
  }
  EXPECT_THAT(batches,
              ::testing::UnorderedElementsAre(Counts{{"a", 13}, {"b", 3}},
                                              Counts{{"a", 10}, {"c", 6}},
                                              Counts{{"b", 3}, {"c", 6}}));
}

TEST(CategoryHard, RefusesWhatCannotBe) {
  const auto make = [](const SamplerInput& input, int64_t batch) {
    return CategoryHardSampler({.batch = batch}, input);
  };
  expect_error<ConfigError>(
      [&] {
        make(classes_of({5, 5}), 4);
      },
      "category_hard", "categories", "column 'category'",
      "sampler.name: whole_classes");
  expect_error<ConfigError>(
      [&] {
        make(categories_of({{"", 5}}, 2), 4);
      },
      "needs categories");
  expect_error<ConfigError>(
      [&] {
        make(categories_of({{"a", 5}}, 2), 4);
      },
      "two categories", "'a'", "whole_classes");
  expect_error<ConfigError>(
      [&] {
        make(categories_of({{"a", 5}, {"b", 5}}, 2), 5);
      },
      "'category_hard.batch'", "5",
      "multiple of 'category_hard.categories_per_batch' (2)");
  const auto make_of = [](const SamplerInput& input, int64_t categories) {
    return CategoryHardSampler(
        {.batch = 12, .categories_per_batch = categories}, input);
  };
  expect_error<ConfigError>(
      [&] {
        make_of(categories_of({{"a", 9}, {"b", 9}}, 2), 3);
      },
      "needs 3 categories", "have 2", "'sampler.categories_per_batch'");
  expect_error<ConfigError>(
      [&] {
        make_of(categories_of({{"", 9}, {"a", 9}, {"b", 9}}, 2), 3);
      },
      "'category_hard.categories_per_batch' is 3",
      "18 training images have no category");
  Counts many;
  for (int i = 0; i < 60; ++i) many[std::to_string(i)] = 1;
  expect_error<ConfigError>([&] { make_of(categories_of(many, 2), 6); },
                            "6 of 60", "more than a million batches");
}

}  // namespace
}  // namespace kith
