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
#include "kith/samplers/sampler.h"
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

std::unique_ptr<Sampler> make(int64_t batch, int64_t per_class,
                              const SamplerInput& input) {
  return make_sampler("{name: class_balanced, batch: " + std::to_string(batch) +
                          ", per_class: " + std::to_string(per_class) + "}",
                      input);
}

// As many batches as can be made one by one, always from the classes that
// have most groups left: no order makes more.
size_t most_batches(const std::vector<int64_t>& sizes, int64_t per_class,
                    size_t classes) {
  std::vector<int64_t> groups;
  for (const int64_t size : sizes) groups.push_back(size / per_class);
  for (size_t batches = 0;; ++batches) {
    std::sort(groups.rbegin(), groups.rend());
    if (groups.size() < classes || groups[classes - 1] <= 0) return batches;
    for (size_t c = 0; c < classes; ++c) --groups[c];
  }
}

// Every batch has `classes` different classes with per_class images each, and
// no image comes twice.
void expect_balanced(const Batches& batches, const SamplerInput& input,
                     int64_t per_class, size_t classes) {
  const std::map<int64_t, int64_t> label_of = labels_of(input);
  std::set<int64_t> seen;
  for (const std::vector<int64_t>& batch : batches) {
    std::map<int64_t, int64_t> counts;
    for (const int64_t index : batch) {
      ASSERT_TRUE(seen.insert(index).second) << index << " repeats";
      ++counts[label_of.at(index)];
    }
    ASSERT_EQ(counts.size(), classes);
    for (const auto& [label, count] : counts) ASSERT_EQ(count, per_class);
  }
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
      const Batches batches = sampler->epoch(epoch);
      EXPECT_EQ(batches.size(), most_batches(c.sizes, c.per_class, classes));
      expect_balanced(batches, input, c.per_class, classes);
    }
    if (HasFailure()) return;
    ++used;
  }
  EXPECT_GT(used, 1500);
}

TEST(ClassBalanced, DependsOnSeedAndEpochAlone) {
  const std::vector<int64_t> sizes = {9, 14, 8, 30, 12, 11};
  const auto sampler = make(12, 3, classes_of(sizes, 5));
  const Batches first = sampler->epoch(3);
  EXPECT_NE(sampler->epoch(4), first);
  EXPECT_EQ(sampler->epoch(3), first);
  EXPECT_EQ(make(12, 3, classes_of(sizes, 5))->epoch(3), first);
  EXPECT_NE(make(12, 3, classes_of(sizes, 6))->epoch(3), first);
}

TEST(ClassBalanced, DoesNotKeepClassesOrImagesTogether) {
  const SamplerInput input = classes_of(std::vector<int64_t>(20, 8));
  const auto sampler = make(16, 4, input);
  std::map<int64_t, std::set<int64_t>> neighbours;
  for (int64_t epoch = 0; epoch < 600; ++epoch) {
    for (const std::vector<int64_t>& batch : sampler->epoch(epoch)) {
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
    for (const auto& batch : sampler->epoch(epoch)) {
      seen.insert(batch.begin(), batch.end());
    }
  }
  EXPECT_EQ(seen.size(), input.indices.size());
}

TEST(ClassBalanced, UsesAllImagesOfEqualClassesEveryEpoch) {
  const SamplerInput input = classes_of(std::vector<int64_t>(10, 20));
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    const Batches batches = make(20, 4, input)->epoch(epoch);
    EXPECT_EQ(batches.size(), 10u);
    expect_balanced(batches, input, 4, 5);
  }
}

TEST(ClassBalanced, LeavesOutSmallClassesAndNamesThem) {
  const LogCapture log;
  const SamplerInput input = classes_of({8, 3, 8, 1, 4});
  const Batches batches = make(8, 4, input)->epoch(0);
  EXPECT_EQ(batches.size(), 2u);
  expect_balanced(batches, input, 4, 2);
  EXPECT_THAT(log.warnings(),
              ElementsAre(AllOf(HasSubstr("2 classes"), HasSubstr("10 (3)"),
                                HasSubstr("30 (1)"), Not(HasSubstr("40")))));
}

TEST(ClassBalanced, ShrinksABatchThatIsTooLarge) {
  const LogCapture log;
  const SamplerInput input = classes_of({8, 3, 9, 12});
  const Batches batches = make(400, 4, input)->epoch(0);
  EXPECT_EQ(batches.size(), 2u);
  expect_balanced(batches, input, 4, 3);
  EXPECT_THAT(log.notes(),
              ElementsAre(AllOf(HasSubstr("400"), HasSubstr("3 x 4 = 12"))));
}

TEST(ClassBalanced, SaysNothingWhenAllFits) {
  const LogCapture log;
  make(8, 4, classes_of({4, 4}))->epoch(0);
  EXPECT_THAT(log.warnings(), IsEmpty());
  EXPECT_THAT(log.notes(), IsEmpty());
}

TEST(ClassBalanced, RefusesWhatCannotBe) {
  const SamplerInput input = classes_of({8, 8});
  expect_error<ConfigError>([&] { make(10, 4, input); }, "sampler.batch", "10",
                            "multiple", "sampler.per_class", "4");
  expect_error<ConfigError>([&] { make(4, 8, input); }, "multiple");
  expect_error<ConfigError>([&] { make(8, 0, input); }, "sampler.per_class");
  expect_error<ConfigError>([&] { make(1, 1, input); }, "sampler.batch");
  expect_error<ConfigError>([&] { make(32, 16, input); },
                            "no training class has", "16");
  expect_error<ConfigError>([&] { make(8, 4, SamplerInput()); },
                            "no training class");
}

// The sizes of Cars-196: a batch of all 98 classes.
TEST(ClassBalanced, TakesAllClassesOfCarsInEveryBatch) {
  std::vector<int64_t> sizes;
  Rng rng(1, Stream::kStep);
  for (int c = 0; c < 98; ++c) sizes.push_back(rng.between(58, 90));
  sizes[40] = 58;
  const SamplerInput input = classes_of(sizes);
  const Batches batches = make(392, 4, input)->epoch(0);
  EXPECT_EQ(batches.size(), 58u / 4);
  expect_balanced(batches, input, 4, 98);
}

TEST(ClassBalanced, IsQuickOnAMillionImages) {
  std::vector<int64_t> sizes;
  Rng rng(2, Stream::kStep);
  for (int c = 0; c < 100'000; ++c) sizes.push_back(rng.between(5, 15));
  const SamplerInput input = classes_of(sizes);
  const std::clock_t start = std::clock();
  const Batches batches = make(112, 4, input)->epoch(0);
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
