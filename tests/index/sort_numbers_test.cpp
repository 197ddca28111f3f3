#include "kith/index/sort_numbers.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace kith {
namespace {

TEST(SortNumbers, AgreesWithComparing) {
  std::mt19937 draw(1);
  std::vector<int32_t> room;
  for (const int64_t limit :
       {int64_t{1}, int64_t{2}, int64_t{2048}, int64_t{2049}, int64_t{1} << 22,
        int64_t{1} << 31}) {
    for (const size_t count : {0, 1, 100, 255, 256, 5000}) {
      std::uniform_int_distribution<int32_t> any(
          0, static_cast<int32_t>(limit - 1));
      std::vector<int32_t> numbers(count);
      for (int32_t& number : numbers) number = any(draw);
      if (count > 0) numbers.back() = static_cast<int32_t>(limit - 1);
      std::vector<int32_t> expected = numbers;
      std::sort(expected.begin(), expected.end());
      sort_numbers(numbers, limit, room);
      EXPECT_EQ(numbers, expected) << count << " below " << limit;
    }
  }
}

}  // namespace
}  // namespace kith
