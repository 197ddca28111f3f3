#include "kith/ops/finite.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace kith {
namespace {

TEST(AllFinite, FindsOneBadNumber) {
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    EXPECT_TRUE(all_finite(torch::ones({7, 5}, type)));
    for (const double bad : {double{NAN}, HUGE_VAL, -HUGE_VAL}) {
      Tensor rows = torch::ones({7, 5}, type);
      rows[4][2] = bad;
      rows[6][0] = bad;
      EXPECT_FALSE(all_finite(rows));
      EXPECT_EQ(first_bad_row(rows), 4);
    }
  }
  EXPECT_EQ(first_bad_row(torch::full({3, 2}, 3e38F)), -1);
}

TEST(AllFinite, IsTrueOfWhatCannotBeBad) {
  EXPECT_TRUE(all_finite(torch::empty({0, 3})));
  EXPECT_TRUE(all_finite(torch::ones({3}, torch::kLong)));
}

TEST(FirstBadTensor, NamesTheFirst) {
  NamedTensors all = {{"a", torch::ones({3})},
                      {"count", torch::ones({1}, torch::kLong)},
                      {"b", torch::ones({2, 2}, torch::kDouble)},
                      {"none", torch::empty({0})}};
  EXPECT_EQ(first_bad_tensor(all), "");
  all[2].second[1][0] = NAN;
  EXPECT_EQ(first_bad_tensor(all), "b");
  all[0].second[2] = -INFINITY;
  EXPECT_EQ(first_bad_tensor(all), "a");
  EXPECT_EQ(first_bad_tensor({}), "");
}

TEST(FirstBadTensor, LargeNumbersAreNotBad) {
  // Their squares are infinite in float32.
  EXPECT_EQ(first_bad_tensor({{"a", torch::full({9}, 1e30F)}}), "");
}

}  // namespace
}  // namespace kith
