#include "kith/ops/cpu_level.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/torch/cpu_levels.h"

namespace kith {
namespace {

TEST(CpuLevels, ThePlainOneIsEverywhere) {
  const std::vector<CpuLevel> levels = cpu_levels();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.front(), CpuLevel::kPlain);
  EXPECT_TRUE(std::is_sorted(levels.begin(), levels.end()));
}

TEST(CpuLevels, HaveNames) {
  EXPECT_EQ(name_of(CpuLevel::kPlain), "plain");
  EXPECT_EQ(name_of(CpuLevel::kAvx2), "avx2");
  EXPECT_EQ(name_of(CpuLevel::kAvx512), "avx512");
}

TEST(CpuLevels, CanBeSet) {
  const CpuLevel before = cpu_level();
  size_t count = 0;
  for_each_cpu_level([&] {
    EXPECT_EQ(cpu_level(), cpu_levels()[count]);
    ++count;
  });
  EXPECT_EQ(count, cpu_levels().size());
  EXPECT_EQ(cpu_level(), before);
}

}  // namespace
}  // namespace kith
