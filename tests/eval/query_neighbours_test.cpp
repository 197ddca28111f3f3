#include "kith/eval/query_neighbours.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/eval/twelve_images.h"

namespace kith {
namespace {

std::vector<int64_t> all_positions() {
  return {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
}

double similarity(const EmbeddedSplit& split, int64_t a, int64_t b) {
  return torch::dot(split.embeddings[a - 10], split.embeddings[b - 10])
      .item<double>();
}

/// The items without `left_out`, by falling similarity to `query`.
std::vector<int64_t> sorted(const EmbeddedSplit& split, int64_t query,
                            std::vector<int64_t> items,
                            const std::vector<int64_t>& left_out) {
  std::erase_if(items, [&](int64_t item) {
    return std::find(left_out.begin(), left_out.end(), item) != left_out.end();
  });
  std::sort(items.begin(), items.end(), [&](int64_t a, int64_t b) {
    return similarity(split, query, a) > similarity(split, query, b);
  });
  return items;
}

std::vector<int64_t> items_of(const std::vector<NeighbourItem>& found) {
  std::vector<int64_t> items;
  for (const NeighbourItem& item : found) items.push_back(item.item);
  return items;
}

TEST(QueryNeighbours, AreTheNearestWithoutTheQuery) {
  const EmbeddedSplit split =
      twelve_images({{"", all_positions(), all_positions()}});
  const auto found = query_neighbours(split, split.tasks[0], {7, 0}, 5);
  ASSERT_EQ(found.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t query = i == 0 ? 17 : 10;
    std::vector<int64_t> wanted =
        sorted(split, query, all_positions(), {query});
    wanted.resize(5);
    EXPECT_EQ(items_of(found[i]), wanted);
    for (const NeighbourItem& item : found[i]) {
      EXPECT_NEAR(item.similarity, similarity(split, query, item.item), 1e-6);
      EXPECT_EQ(item.right, (item.item - 10) / 3 == (query - 10) / 3);
    }
  }
}

TEST(QueryNeighbours, EndWithTheGallery) {
  const EmbeddedSplit split = twelve_images({{"", {10, 13}, {12, 13, 15}}});
  const auto found = query_neighbours(split, split.tasks[0], {0, 1}, 5);
  EXPECT_EQ(items_of(found[0]), sorted(split, 10, {12, 13, 15}, {}));
  EXPECT_EQ(items_of(found[1]), sorted(split, 13, {12, 15}, {}));
  EXPECT_TRUE(query_neighbours(split, split.tasks[0], {}, 5).empty());
}

TEST(QueryNeighbours, FollowListsAndLeaveJunkOut) {
  EvalTask task{"easy", {10, 11}, {12, 13, 14, 15, 16}};
  task.lists.positives = {{3, 0}, {}};
  task.lists.junk = {{2, 1}, {}};
  const EmbeddedSplit split = twelve_images({task});
  const auto found = query_neighbours(split, split.tasks[0], {0, 1}, 3);
  EXPECT_EQ(items_of(found[0]), sorted(split, 10, {12, 15, 16}, {}));
  for (const NeighbourItem& item : found[0]) {
    EXPECT_EQ(item.right, item.item != 16);
  }
  ASSERT_EQ(found[1].size(), 3U);
  for (const NeighbourItem& item : found[1]) EXPECT_FALSE(item.right);
}

TEST(QueryNeighbours, QueriesAreDrawnWithTheSeed) {
  const EvalTask task{"", all_positions(), all_positions()};
  const std::vector<int64_t> drawn = draw_queries(task, 5, 1);
  EXPECT_EQ(drawn.size(), 5U);
  EXPECT_EQ(draw_queries(task, 5, 1), drawn);
  EXPECT_NE(draw_queries(task, 5, 2), drawn);
  std::vector<int64_t> all = draw_queries(task, 100, 1);
  // Fewer are the first ones of more.
  EXPECT_TRUE(std::equal(drawn.begin(), drawn.end(), all.begin()));
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace kith
