#include "kith/ops/gpu_clock.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/timer.h"

namespace kith {
namespace {

TEST(GpuClock, TimesTheWorkBetweenMarks) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const c10::Device gpu(c10::kCUDA, 0);
  Tensor x = torch::randn({4096, 4096}, gpu);
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) torch::mm(x, x);
  };
  work();
  torch::cuda::synchronize();
  const Timer timer;
  GpuClock clock(gpu);
  work();
  clock.mark();
  const double started = timer.seconds();
  clock.mark();
  const std::vector<double> seconds = clock.seconds();
  const double done = timer.seconds();
  ASSERT_EQ(seconds.size(), 2u);
  // 2.7 TFLOP, and nothing.
  EXPECT_GT(seconds[0], 1e-3);
  EXPECT_LE(seconds[0], done);
  EXPECT_LT(seconds[1], 0.1 * seconds[0]);
  EXPECT_LT(started, 0.5 * done);  // it did not wait
}

}  // namespace
}  // namespace kith
