#include "kith/index/position_set.h"

#include <gtest/gtest.h>

namespace kith {
namespace {

TEST(PositionSet, KeepsRanges) {
  PositionSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(0));
  EXPECT_EQ(set.nth_outside(5), 5);
  set.append({2, 2});
  set.append({3, 5});
  set.append({9, 1'000'000'000});
  EXPECT_EQ(set.ranges(),
            (std::vector<PositionSet::Range>{{2, 5}, {9, 1'000'000'000}}));
  EXPECT_EQ(set.size(), 4 + 1'000'000'000 - 8);
  for (const int64_t inside : {2, 3, 5, 9, 77, 1'000'000'000}) {
    EXPECT_TRUE(set.contains(inside)) << inside;
  }
  for (const int64_t outside : {0, 1, 6, 8, 1'000'000'001}) {
    EXPECT_FALSE(set.contains(outside)) << outside;
  }
}

TEST(PositionSet, FindsTheNthOutside) {
  PositionSet set;
  set.append({0, 1});
  set.append({3, 3});
  set.append({6, 8});
  int64_t n = 0;
  for (int64_t position = 0; position < 20; ++position) {
    if (set.contains(position)) continue;
    EXPECT_EQ(set.nth_outside(n++), position);
  }
}

}  // namespace
}  // namespace kith
