#include "kith/ops/row_layout.h"

#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Ints = std::vector<int64_t>;

Ints list(const Tensor& t) {
  const Tensor here = t.contiguous();
  return {here.data_ptr<int64_t>(), here.data_ptr<int64_t>() + here.numel()};
}

std::vector<double> shares(const Tensor& t) {
  return {t.data_ptr<double>(), t.data_ptr<double>() + t.numel()};
}

/// Stretches as {begin, end, item_begin, item_end}.
std::vector<Ints> list(const std::vector<Stretch>& stretches) {
  std::vector<Ints> all;
  for (const Stretch& s : stretches) {
    all.push_back({s.begin, s.end, s.item_begin, s.item_end});
  }
  return all;
}

TEST(SortByLabel, KeepsTheOrderWithinAClass) {
  const SortedSet set = sort_by_label(labels_of({7, -2, 7, 40, -2, 7}));
  EXPECT_EQ(list(set.order), (Ints{1, 4, 0, 2, 5, 3}));
  EXPECT_EQ(list(set.labels), (Ints{-2, -2, 7, 7, 7, 40}));
  EXPECT_EQ(set.examples, 6);
  EXPECT_EQ(set.items, 6);
  EXPECT_FALSE(set.mixed());
}

/// Labels 7, 3, 7, 3, 3, 5 sorted: positions 1 3 4 | 5 | 0 2.
class MixedSet : public ::testing::Test {
 protected:
  MixedSet() {
    MixedPairs mixed;
    // In any order: 0.25 x_0 + 0.75 x_2, 0.5 x_4 + 0.5 x_1, x_1.
    mixed.pairs = labels_of({0, 2, 4, 1, 1, 3}).view({3, 2});
    mixed.alphas = torch::tensor({0.25, 0.5, 1.0}, torch::kDouble);
    set_ = sort_batch(labels_of({7, 3, 7, 3, 3, 5}), mixed).set;
  }
  SortedSet set_;
};

TEST_F(MixedSet, HasVirtualExamplesBehindThoseOfTheirClass) {
  ASSERT_TRUE(set_.mixed());
  EXPECT_EQ(set_.examples, 6);
  EXPECT_EQ(set_.items, 9);
  EXPECT_EQ(list(set_.order), (Ints{1, 3, 4, 5, 0, 2}));
  EXPECT_EQ(list(set_.labels), (Ints{3, 3, 3, 3, 3, 5, 7, 7, 7}));
  // Parents by their place among the sorted examples.
  EXPECT_EQ(list(set_.first_parent), (Ints{0, 1, 2, 2, 0, 3, 4, 5, 4}));
  EXPECT_EQ(list(set_.second_parent), (Ints{0, 1, 2, 0, 1, 3, 4, 5, 5}));
  EXPECT_EQ(shares(set_.alpha),
            (std::vector<double>{1, 1, 1, 0.5, 1, 1, 1, 1, 0.25}));
}

TEST_F(MixedSet, KnowsTheChildrenOfEachExample) {
  EXPECT_EQ(list(set_.child_start), (Ints{0, 3, 5, 7, 8, 10, 12}));
  EXPECT_EQ(list(set_.children), (Ints{0, 3, 4, 1, 4, 2, 3, 5, 6, 8, 7, 8}));
  EXPECT_EQ(
      shares(set_.child_share),
      (std::vector<double>{1, 0.5, 1, 1, 0, 1, 0.5, 1, 1, 0.25, 1, 0.75}));
}

/// Parents and children describe the same matrix of shares.
TEST_F(MixedSet, ChildrenAreTheTransposeOfParents) {
  Tensor from_parents = torch::zeros({9, 6}, torch::kDouble);
  for (int64_t item = 0; item < 9; ++item) {
    const auto alpha = set_.alpha[item].item<double>();
    from_parents[item][set_.first_parent[item].item<int64_t>()] += alpha;
    from_parents[item][set_.second_parent[item].item<int64_t>()] += 1 - alpha;
  }
  Tensor from_children = torch::zeros({9, 6}, torch::kDouble);
  const Ints start = list(set_.child_start);
  for (size_t n = 0; n < 6; ++n) {
    for (int64_t c = start[n]; c < start[n + 1]; ++c) {
      from_children[set_.children[c].item<int64_t>()]
                   [static_cast<int64_t>(n)] += set_.child_share[c];
    }
  }
  EXPECT_EQ(max_difference(from_children, from_parents), 0);
}

TEST(SortByLabel, NoPairsAreStillMixed) {
  MixedPairs none;
  none.pairs = torch::empty({0, 2}, torch::kLong);
  none.alphas = torch::empty({0}, torch::kDouble);
  const SortedSet set = sort_batch(labels_of({2, 1, 2}), none).set;
  EXPECT_TRUE(set.mixed());
  EXPECT_EQ(set.items, 3);
  EXPECT_EQ(list(set.children), (Ints{0, 1, 2}));
}

TEST(SortByLabel, OfNothing) {
  const SortedSet set = sort_by_label(labels_of({}));
  EXPECT_EQ(set.items, 0);
  EXPECT_TRUE(cut(set, 4).empty());
}

TEST(ClassRanges, OfABatchWithItself) {
  const Tensor labels = labels_of({-2, -2, 7, 7, 7, 40});
  const ClassRanges ranges = class_ranges(labels, labels);
  EXPECT_EQ(list(ranges.first), (Ints{0, 0, 2, 2, 2, 5}));
  EXPECT_EQ(list(ranges.last), (Ints{2, 2, 5, 5, 5, 6}));
  EXPECT_EQ(list(ranges.slot), (Ints{0, 2, 4, 7, 10, 13}));
  EXPECT_EQ(ranges.slots, 14);
  EXPECT_EQ(ranges.largest, 3);
  EXPECT_EQ(ranges.alone, 1);
}

TEST(ClassRanges, OfADatabaseThatLacksAClass) {
  const ClassRanges ranges =
      class_ranges(labels_of({1, 3, 3, 9}), labels_of({2, 3, 3, 3, 9}));
  EXPECT_EQ(list(ranges.first), (Ints{0, 1, 1, 4}));
  EXPECT_EQ(list(ranges.last), (Ints{0, 4, 4, 5}));
  EXPECT_EQ(list(ranges.slot), (Ints{0, 0, 3, 6}));
  EXPECT_EQ(ranges.slots, 7);
  EXPECT_EQ(ranges.largest, 3);
}

/// A GPU has its own way for small batches.
TEST(SortBatch, IsSortingAndFindingTheRanges) {
  const Tensor labels = labels_of({7, -2, 7, 40, -2, 7, 9, 1});
  std::vector<at::Device> devices = {at::kCPU};
  if (torch::cuda::is_available()) devices.emplace_back(at::kCUDA);
  for (const Tensor& some : {labels, labels.repeat(700), labels_of({}),
                             labels_of({3}), torch::arange(-50, 50)}) {
    const SortedSet set = sort_by_label(some);
    const ClassRanges ranges = class_ranges(set.labels, set.labels);
    for (const at::Device& device : devices) {
      SortedBatch batch = sort_batch(some.to(device), MixedPairs());
      batch.finish();
      EXPECT_EQ(list(batch.set.order.cpu()), list(set.order));
      EXPECT_EQ(batch.set.examples, set.examples);
      EXPECT_EQ(batch.set.items, set.items);
      EXPECT_EQ(list(batch.ranges.first.cpu()), list(ranges.first));
      EXPECT_EQ(list(batch.ranges.last.cpu()), list(ranges.last));
      EXPECT_EQ(list(batch.ranges.slot.cpu()), list(ranges.slot));
      EXPECT_EQ(batch.ranges.slots, ranges.slots);
      EXPECT_EQ(batch.ranges.largest, ranges.largest);
      EXPECT_EQ(batch.ranges.alone, ranges.alone);
    }
  }
}

TEST(ClassRanges, OfNothing) {
  const ClassRanges no_rows = class_ranges(labels_of({}), labels_of({1}));
  EXPECT_EQ(no_rows.slots, 0);
  EXPECT_EQ(no_rows.largest, 0);
  const ClassRanges no_columns = class_ranges(labels_of({1, 2}), labels_of({}));
  EXPECT_EQ(list(no_columns.first), (Ints{0, 0}));
  EXPECT_EQ(list(no_columns.last), (Ints{0, 0}));
  EXPECT_EQ(no_columns.slots, 0);
}

TEST(Cut, AnywhereWithoutVirtualExamples) {
  const SortedSet set = sort_by_label(labels_of({1, 1, 1, 2, 2, 2, 3}));
  EXPECT_EQ(list(cut(set, 3)),
            (std::vector<Ints>{{0, 3, 0, 3}, {3, 6, 3, 6}, {6, 7, 6, 7}}));
  EXPECT_EQ(list(cut(set, 100)), (std::vector<Ints>{{0, 7, 0, 7}}));
  EXPECT_EQ(cut(set, 1).size(), 7u);
}

TEST_F(MixedSet, IsCutBetweenClasses) {
  // Classes of 3, 1 and 2 examples with 5, 1 and 3 items.
  EXPECT_EQ(list(cut(set_, 100)), (std::vector<Ints>{{0, 6, 0, 9}}));
  EXPECT_EQ(list(cut(set_, 4)),
            (std::vector<Ints>{{0, 4, 0, 6}, {4, 6, 6, 9}}));
  EXPECT_EQ(list(cut(set_, 3)),
            (std::vector<Ints>{{0, 3, 0, 5}, {3, 6, 5, 9}}));
  // Classes that are longer stay whole.
  for (const int64_t length : {1, 2}) {
    EXPECT_EQ(list(cut(set_, length)),
              (std::vector<Ints>{{0, 3, 0, 5}, {3, 4, 5, 6}, {4, 6, 6, 9}}));
  }
}

}  // namespace
}  // namespace kith
