#include "kith/samplers/class_balanced.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/rng.h"
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

ClassBalancedSampler make(int64_t batch, int64_t per_class,
                          const SamplerInput& input) {
  return ClassBalancedSampler({.batch = batch, .per_class = per_class}, input);
}

// Groups of a class: whole ones, or all images with the last group filled up.
int64_t whole_groups(int64_t size, int64_t per_class) {
  return size / per_class;
}
int64_t all_groups(int64_t size, int64_t per_class) {
  return size / per_class + (size % per_class > 0 ? 1 : 0);
}

// What the sampler promises of classes of these sizes.
struct Promise {
  size_t batches = 0;
  bool no_repeats = false;
  bool every_image = false;
};

Promise promise(const std::vector<int64_t>& sizes, int64_t per_class,
                int64_t classes) {
  int64_t whole = 0, most_whole = 0, all = 0, most = 0;
  for (const int64_t size : sizes) {
    if (size < per_class) continue;
    whole += whole_groups(size, per_class);
    most_whole = std::max(most_whole, whole_groups(size, per_class));
    all += all_groups(size, per_class);
    most = std::max(most, all_groups(size, per_class));
  }
  if (most_whole <= whole / classes) {
    return {static_cast<size_t>(whole / classes), true, false};
  }
  const int64_t share = (all + classes - 1) / classes;
  if (most > 2 * share) return {static_cast<size_t>(share), false, false};
  return {static_cast<size_t>(std::max(share, most)), false, true};
}

// Every batch has `classes` different classes with per_class different images
// each, and no image of a class comes again before all others have come.
void expect_balanced(const Batches& batches, const SamplerInput& input,
                     int64_t per_class, size_t classes) {
  const std::map<int64_t, int64_t> label_of = labels_of(input);
  std::map<int64_t, std::map<int64_t, int64_t>> seen;  // by label and image
  for (const auto& [image, label] : label_of) seen[label][image] = 0;
  for (const std::vector<int64_t>& batch : batches) {
    std::map<int64_t, std::set<int64_t>> images;
    for (const int64_t image : batch) {
      ASSERT_TRUE(images[label_of.at(image)].insert(image).second) << image;
      ++seen[label_of.at(image)][image];
    }
    ASSERT_EQ(images.size(), classes);
    for (const auto& [label, of_label] : images) {
      ASSERT_EQ(of_label.size(), static_cast<size_t>(per_class));
      int64_t least = 1'000'000, most = 0;
      for (const auto& [image, count] : seen[label]) {
        least = std::min(least, count);
        most = std::max(most, count);
      }
      ASSERT_LE(most - least, 1) << label;
    }
  }
}

void expect_no_repeats(const Batches& batches) {
  for (const auto& [image, count] : count_images(batches)) {
    ASSERT_EQ(count, 1) << image;
  }
}

// All images of classes with at least per_class.
void expect_every_image(const Batches& batches, const SamplerInput& input,
                        int64_t per_class) {
  std::map<int64_t, int64_t> sizes;
  for (const int64_t label : input.labels) ++sizes[label];
  size_t usable = 0;
  for (const auto& [label, size] : sizes) {
    usable += size < per_class ? 0 : static_cast<size_t>(size);
  }
  ASSERT_EQ(count_images(batches).size(), usable);
}

struct Case {
  std::vector<int64_t> sizes;
  int64_t per_class;
  int64_t classes_a_batch;
};

// Even, skewed and extreme distributions of class sizes.
Case random_case(Rng& rng) {
  Case c;
  const int64_t most = rng.between(1, 40);
  const int64_t shape = rng.between(0, 3);
  for (int64_t n = rng.between(1, 30); n > 0; --n) {
    int64_t size = rng.between(1, most);
    if (shape == 1) size = most;
    if (shape == 2 && rng.below(5) == 0) size *= 20;
    if (shape == 3) size = 1 + most * 5 / n;
    c.sizes.push_back(size);
  }
  c.per_class = rng.between(1, 6);
  c.classes_a_batch = rng.between(1, 12);
  return c;
}

TEST(ClassBalanced, IsRightForManyDistributions) {
  Rng rng(0, Stream::kStep);
  int used = 0;
  for (int i = 0; i < 2000; ++i) {
    const Case c = random_case(rng);
    const int64_t batch = c.per_class * c.classes_a_batch;
    const auto usable =
        std::count_if(c.sizes.begin(), c.sizes.end(),
                      [&](int64_t size) { return size >= c.per_class; });
    if (usable == 0 || batch < 2) continue;
    SCOPED_TRACE(::testing::PrintToString(c.sizes) + " batch " +
                 std::to_string(batch) + " per_class " +
                 std::to_string(c.per_class));
    const SamplerInput input = classes_of(c.sizes, static_cast<uint64_t>(i));
    const size_t classes =
        static_cast<size_t>(std::min<int64_t>(c.classes_a_batch, usable));
    const auto sampler = make(batch, c.per_class, input);
    for (const int64_t epoch : {0, 1, 77}) {
      const Batches batches = sampler.epoch(epoch);
      const Promise wanted =
          promise(c.sizes, c.per_class, static_cast<int64_t>(classes));
      EXPECT_EQ(batches.size(), wanted.batches);
      expect_balanced(batches, input, c.per_class, classes);
      if (wanted.no_repeats) expect_no_repeats(batches);
      if (wanted.every_image) expect_every_image(batches, input, c.per_class);
    }
    if (HasFailure()) return;
    ++used;
  }
  EXPECT_GT(used, 1500);
}

TEST(ClassBalanced, DependsOnSeedAndEpochAlone) {
  const std::vector<int64_t> sizes = {9, 14, 8, 30, 12, 11};
  const auto sampler = make(12, 3, classes_of(sizes, 5));
  const Batches first = sampler.epoch(3);
  EXPECT_NE(sampler.epoch(4), first);
  EXPECT_EQ(sampler.epoch(3), first);
  EXPECT_EQ(make(12, 3, classes_of(sizes, 5)).epoch(3), first);
  EXPECT_NE(make(12, 3, classes_of(sizes, 6)).epoch(3), first);
}

TEST(ClassBalanced, DoesNotKeepClassesOrImagesTogether) {
  const SamplerInput input = classes_of(std::vector<int64_t>(20, 8));
  const auto sampler = make(16, 4, input);
  std::map<int64_t, std::set<int64_t>> neighbours;
  for (int64_t epoch = 0; epoch < 600; ++epoch) {
    for (const std::vector<int64_t>& batch : sampler.epoch(epoch)) {
      neighbours[batch[0]].insert(batch.begin(), batch.end());
    }
  }
  // Every image has opened a batch, and has met most of the others.
  EXPECT_EQ(neighbours.size(), input.indices.size());
  for (const auto& [index, others] : neighbours) EXPECT_GT(others.size(), 110u);
}

TEST(ClassBalanced, UsesEveryImageOverTheEpochs) {
  const SamplerInput input = classes_of({4, 5, 7, 50, 4, 6, 9});
  const auto sampler = make(12, 4, input);
  std::set<int64_t> seen;
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    for (const auto& batch : sampler.epoch(epoch)) {
      seen.insert(batch.begin(), batch.end());
    }
  }
  EXPECT_EQ(seen.size(), input.indices.size());
}

TEST(ClassBalanced, UsesAllImagesOfEqualClassesEveryEpoch) {
  const SamplerInput input = classes_of(std::vector<int64_t>(10, 20));
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    const Batches batches = make(20, 4, input).epoch(epoch);
    EXPECT_EQ(batches.size(), 10u);
    expect_balanced(batches, input, 4, 5);
    expect_no_repeats(batches);
  }
}

// The plan of equal classes, as it has always been: published runs have it.
TEST(ClassBalanced, KeepsThePlanOfEqualClasses) {
  const SamplerInput input = classes_of(std::vector<int64_t>(4, 5), 3);
  EXPECT_EQ(make(4, 2, input).epoch(2), Batches({{1013, 1001, 1000, 1008},
                                                 {1006, 1010, 1017, 1005},
                                                 {1004, 1012, 1007, 1019},
                                                 {1014, 1018, 1015, 1003}}));
}

// A small class must not end the epoch of the others.
TEST(ClassBalanced, UsesEveryImageBesideOneSmallClass) {
  for (const auto& [large, steps] :
       std::map<int64_t, size_t>{{40, 10}, {60, 15}, {62, 16}}) {
    std::vector<int64_t> sizes(11, large);
    sizes.push_back(4);
    const SamplerInput input = classes_of(sizes);
    const Batches batches = make(400, 4, input).epoch(0);
    EXPECT_EQ(batches.size(), steps);
    expect_balanced(batches, input, 4, 12);
    expect_every_image(batches, input, 4);
  }
}

TEST(ClassBalanced, UsesEveryImageOfUnequalClasses) {
  std::vector<int64_t> sizes;
  for (int64_t size = 2; size <= 100; ++size) sizes.push_back(size);
  const SamplerInput input = classes_of(sizes);
  const Batches batches = make(400, 4, input).epoch(0);
  EXPECT_EQ(batches.size(), 25u);  // of the class of 100
  expect_balanced(batches, input, 4, 97);
  expect_every_image(batches, input, 4);
}

// Every image of the large class would be 250 batches of repeats.
TEST(ClassBalanced, DoesNotRepeatSmallClassesForAVeryLargeOne) {
  std::vector<int64_t> sizes(50, 20);
  sizes.push_back(1000);
  const SamplerInput input = classes_of(sizes);
  const Batches batches = make(400, 4, input).epoch(0);
  EXPECT_EQ(batches.size(), 10u);  // (250 + 50 * 5) / 51, rounded up
  expect_balanced(batches, input, 4, 51);
}

TEST(ClassBalanced, LeavesOutSmallClassesAndNamesThem) {
  const LogCapture log;
  const SamplerInput input = classes_of({8, 3, 8, 1, 4});
  const Batches batches = make(8, 4, input).epoch(0);
  EXPECT_EQ(batches.size(), 2u);
  expect_balanced(batches, input, 4, 2);
  EXPECT_THAT(log.warnings(),
              ElementsAre(AllOf(HasSubstr("2 classes"), HasSubstr("10 (3)"),
                                HasSubstr("30 (1)"), Not(HasSubstr("40")))));
}

TEST(ClassBalanced, NamesClassesByTheirNames) {
  const LogCapture log;
  SamplerInput input = classes_of({8, 3, 8});
  input.class_names = {{0, "cat"}, {10, "dog"}};
  make(8, 4, input);
  EXPECT_THAT(log.warnings(), ElementsAre(HasSubstr("'dog' (3)")));
}

TEST(ClassBalanced, ShrinksABatchThatIsTooLarge) {
  const LogCapture log;
  const SamplerInput input = classes_of({8, 3, 9, 12});
  const Batches batches = make(400, 4, input).epoch(0);
  EXPECT_EQ(batches.size(), 3u);
  expect_balanced(batches, input, 4, 3);
  EXPECT_THAT(log.notes(),
              ElementsAre(AllOf(HasSubstr("400"), HasSubstr("3 x 4 = 12"))));
}

TEST(ClassBalanced, SaysNothingWhenAllFits) {
  const LogCapture log;
  make(8, 4, classes_of({4, 4})).epoch(0);
  EXPECT_THAT(log.warnings(), IsEmpty());
  EXPECT_THAT(log.notes(), IsEmpty());
}

TEST(ClassBalanced, RefusesWhatCannotBe) {
  const SamplerInput input = classes_of({8, 8});
  expect_error<ConfigError>([&] { make(10, 4, input); },
                            "'class_balanced.batch'", "10", "multiple",
                            "'class_balanced.per_class'", "4");
  expect_error<ConfigError>([&] { make(4, 8, input); }, "multiple");
  expect_error<ConfigError>([&] { make(8, 0, input); },
                            "class_balanced.per_class");
  expect_error<ConfigError>([&] { make(1, 1, input); }, "class_balanced.batch");
  expect_error<ConfigError>(
      [&] { make_sampler("{name: class_balanced, per_class: 0}", input); },
      "sampler.per_class");
  expect_error<ConfigError>([&] { make(32, 16, input); },
                            "no training class has 'class_balanced.per_class'",
                            "16");
  expect_error<ConfigError>([&] { make(8, 4, SamplerInput()); },
                            "no training class");
}

// The sizes of Cars-196: all 98 classes are in every batch, and the largest
// class is used up.
TEST(ClassBalanced, TakesAllClassesOfCarsInEveryBatch) {
  std::vector<int64_t> sizes;
  Rng rng(1, Stream::kStep);
  for (int c = 0; c < 98; ++c) sizes.push_back(rng.between(59, 93));
  sizes[40] = 97;
  const SamplerInput input = classes_of(sizes);
  const Batches batches = make(392, 4, input).epoch(0);
  EXPECT_EQ(batches.size(), 25u);
  expect_balanced(batches, input, 4, 98);
  expect_every_image(batches, input, 4);
}

TEST(ClassBalanced, IsQuickOnAMillionImages) {
  std::vector<int64_t> sizes;
  Rng rng(2, Stream::kStep);
  for (int c = 0; c < 100'000; ++c) sizes.push_back(rng.between(5, 15));
  const SamplerInput input = classes_of(sizes);
  const std::clock_t start = std::clock();
  const Batches batches = make(112, 4, input).epoch(0);
  const double seconds =
      static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_GT(batches.size(), 6000u);
  expect_balanced(batches, input, 4, 28);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 20.0);
#else
  EXPECT_LT(seconds, 2.0);
#endif
}

}  // namespace
}  // namespace kith
