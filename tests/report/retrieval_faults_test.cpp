#include "kith/report/retrieval_faults.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/torch/embedded_set.h"

namespace kith {
namespace {

QueryDiagnosis query_with(int64_t first_right, float farthest, float nearest) {
  QueryDiagnosis query;
  query.nearest_positive_rank = first_right;
  query.farthest_positive = 0;
  query.farthest_positive_rank = first_right;
  query.farthest_positive_similarity = farthest;
  query.nearest_negative = 1;
  query.nearest_negative_similarity = nearest;
  return query;
}

TEST(FirstRightOf, CountsRanksAndWhatIsWhollyApart) {
  Diagnostics all;
  for (const int64_t rank : {1, 1, 2, 4, 5, 16, 17, 100, 101, 5000}) {
    all.queries.push_back(query_with(rank, 0.2F, 0.5F));
  }
  all.queries.push_back(query_with(0, 0, 0));  // not judged
  all.queries[0].farthest_positive_similarity = 0.6F;
  all.queries[1].nearest_negative = -1;  // nothing but right ones
  const FirstRight found = first_right_of(all);
  EXPECT_EQ(found.counts, (std::vector<int64_t>{2, 2, 2, 2, 2}));
  EXPECT_EQ(found.queries, 10);
  EXPECT_EQ(found.apart, 2);
}

class Faults : public ::testing::Test {
 protected:
  const std::vector<int64_t> labels_ = {1, 1, 2, 2, 3};
  const GlyphList data_{labels_};
  const EvalTask task_{"", {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}};
  Thumbnails thumbnails_{data_, 16};
};

TEST_F(Faults, HubsHaveTheirCountsAndQueriesOfTheirClass) {
  Diagnostics all;
  all.gallery = 5;
  all.queries.resize(5);
  all.query_labels = all.gallery_labels = labels_;
  all.hubness.k = 2;
  all.hubness.maximum = 4;
  all.hubness.largest = {{3, 4}, {4, 2}};
  const Hubs hubs = hubs_of(all, task_, thumbnails_);
  EXPECT_EQ(hubs.k, 2);
  EXPECT_EQ(hubs.expected, 2);
  EXPECT_EQ(hubs.items, 5);
  ASSERT_EQ(hubs.largest.size(), 2U);
  EXPECT_EQ(hubs.largest[0].count, 4);
  EXPECT_EQ(hubs.largest[0].of_class, 2);
  EXPECT_EQ(hubs.largest[1].of_class, 1);
  EXPECT_EQ(thumbnails_.album().pictures[hubs.largest[0].picture].label,
            "class 2");
}

TEST_F(Faults, LookalikesAreTheMostSimilarPairsEachOnce) {
  Diagnostics all;
  const float similarities[] = {0.5F, 0.9F, 0.9F, 0.7F, 0.99F};
  const int64_t nearest[] = {4, 2, 1, 0, 0};
  for (size_t q = 0; q < 5; ++q) {
    all.queries.push_back(query_with(1, 0, similarities[q]));
    all.queries.back().nearest_negative = nearest[q];
  }
  all.queries[4].nearest_positive_rank = 0;  // alone in its class
  const auto pairs = lookalikes_of(all, task_, 2, thumbnails_);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_NEAR(pairs[0].similarity, 0.9, 1e-6);
  EXPECT_NEAR(pairs[1].similarity, 0.7, 1e-6);
  EXPECT_EQ(thumbnails_.place(1), pairs[0].first);
  EXPECT_EQ(thumbnails_.place(2), pairs[0].second);
}

TEST_F(Faults, DuplicatesAreFoundByTheirPaths) {
  const std::vector<Item>& items = data_.list().items;
  StoredDuplicates stored;
  stored.pairs = {{items[2].path, "x", items[0].path, "y", 0},
                  {"gone.png", "x", items[1].path, "y", 1},
                  {items[3].path, "x", items[4].path, "y", 2}};
  const auto pairs = duplicate_pictures(stored, data_.list(), 2, thumbnails_);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].first, thumbnails_.place(2));
  EXPECT_EQ(pairs[0].second, thumbnails_.place(0));
  EXPECT_EQ(pairs[1].first, std::numeric_limits<size_t>::max());
  EXPECT_EQ(pairs[1].second, thumbnails_.place(1));
}

}  // namespace
}  // namespace kith
