#include "kith/core/draw.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace kith {
namespace {

TEST(DrawDistinct, IsAPermutationWhenAllAreDrawn) {
  Rng rng(1, Stream::kStep);
  std::vector<int64_t> all = draw_distinct(100, 100, rng);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
  EXPECT_TRUE(draw_distinct(5, 0, rng).empty());
  EXPECT_EQ(draw_distinct(5, 8, rng).size(), 5u);
}

TEST(DrawDistinct, GivesEveryOrderedPairEquallyOften) {
  Rng rng(2, Stream::kStep);
  std::map<std::vector<int64_t>, int> counts;
  for (int i = 0; i < 12'000; ++i) ++counts[draw_distinct(4, 2, rng)];
  EXPECT_EQ(counts.size(), 12u);  // 4 * 3
  for (const auto& [pair, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

// Seeds of published runs depend on these.
TEST(DrawDistinct, GivesWhatItAlwaysGave) {
  using Numbers = std::vector<int64_t>;
  Rng batches(7, Stream::kSampler, {3});
  EXPECT_EQ(draw_distinct(1000, 8, batches),
            (Numbers{936, 598, 43, 221, 179, 940, 50, 16}));
  Rng centres(7, Stream::kCluster);
  EXPECT_EQ(draw_distinct(1000, 8, centres),
            (Numbers{903, 136, 105, 452, 225, 518, 512, 513}));
}

}  // namespace
}  // namespace kith
