#include "kith/core/side_by_side.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace kith {
namespace {

class SideBySide : public ::testing::Test {
 protected:
  SideBySide() : threads_(torch::get_num_threads()) {
    torch::set_num_threads(3);
  }
  ~SideBySide() override { torch::set_num_threads(threads_); }

 private:
  int threads_;
};

TEST_F(SideBySide, DoesEachOnceWithOneThread) {
  std::vector<std::atomic<int>> done(100);
  std::atomic<int> most = 0;
  run_side_by_side(100, [&](int64_t i) {
    ++done[static_cast<size_t>(i)];
    if (torch::get_num_threads() > 1) most = torch::get_num_threads();
  });
  for (const std::atomic<int>& count : done) EXPECT_EQ(count, 1);
  EXPECT_EQ(most, 0);
  EXPECT_EQ(torch::get_num_threads(), 3);
  run_side_by_side(0, [](int64_t) { FAIL(); });
}

TEST_F(SideBySide, HandsErrorsOn) {
  for (const int64_t bad : {0, 57, 99}) {
    EXPECT_THROW(run_side_by_side(100,
                                  [bad](int64_t i) {
                                    if (i == bad) throw std::range_error("x");
                                  }),
                 std::range_error);
  }
  EXPECT_EQ(torch::get_num_threads(), 3);
}

}  // namespace
}  // namespace kith
