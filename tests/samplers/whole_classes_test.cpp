#include "kith/samplers/whole_classes.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/samplers/plans.h"

namespace kith {
namespace {

TEST(WholeClasses, UsesEveryImageOnceAndCutsClassesAtTheEndsOnly) {
  const SamplerInput input = classes_of({3, 5, 4, 1, 7, 2, 6, 5, 5, 2, 9, 1});
  const std::map<int64_t, int64_t> labels = labels_of(input);
  std::map<int64_t, int64_t> sizes;
  for (const int64_t label : input.labels) ++sizes[label];
  const WholeClassesSampler sampler({.batch = 15}, input);
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    const Batches batches = sampler.epoch(epoch);
    ASSERT_EQ(batches.size(), 3u);  // of 50 images
    EXPECT_EQ(count_images(batches).size(), 45u);
    for (const std::vector<int64_t>& batch : batches) {
      ASSERT_EQ(batch.size(), 15u);
      for (const auto& [label, count] : count_labels(batch, labels)) {
        if (label == labels.at(batch.front())) continue;
        if (label == labels.at(batch.back())) continue;
        EXPECT_EQ(count, sizes.at(label));
      }
    }
    // A class that is cut goes on in the next batch.
    for (size_t b = 1; b < batches.size(); ++b) {
      const int64_t cut = labels.at(batches[b - 1].back());
      if (count_labels(batches[b - 1], labels).at(cut) == sizes.at(cut))
        continue;
      if (labels.at(batches[b - 1].front()) == cut) continue;
      EXPECT_EQ(labels.at(batches[b].front()), cut);
    }
  }
}

TEST(WholeClasses, PutsClassesAndImagesInAnyOrder) {
  const SamplerInput input = classes_of({4, 4, 4});
  const WholeClassesSampler sampler({.batch = 4}, input);
  std::set<int64_t> first;
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    first.insert(sampler.epoch(epoch)[0][0]);
  }
  EXPECT_EQ(first.size(), 12u);
}

TEST(WholeClasses, SpreadsAClassLargerThanABatch) {
  const SamplerInput input = classes_of({20, 1});
  const Batches batches = WholeClassesSampler({.batch = 7}, input).epoch(0);
  EXPECT_EQ(batches.size(), 3u);
  EXPECT_EQ(count_images(batches).size(), 21u);
}

}  // namespace
}  // namespace kith
