#include "kith/ops/replay.h"

#include <stdexcept>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

const c10::Device kReplayGpu(c10::kCUDA, 0);

class ReplayOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  }
};

/// y = x with dropout, once for each element of `seeds`, by replay or without.
std::vector<Tensor> dropped(c10::Device device, bool by_replay,
                            const std::vector<uint64_t>& seeds) {
  const Tensor x = random_normal({64, 32}, 1, at::kFloat).to(device);
  Tensor y;
  const Replay::Work work = [&] { y = torch::dropout(x * 2, 0.5, true); };
  work();
  Replay replay(device);
  std::vector<Tensor> all;
  for (const uint64_t seed : seeds) {
    torch::manual_seed(seed);
    if (!by_replay) {
      work();
    } else if (all.empty()) {
      replay.record(work);
    } else {
      replay.run();
    }
    all.push_back(y.clone());
  }
  return all;
}

void expect_same_numbers(c10::Device device) {
  const std::vector<uint64_t> seeds = {3, 4, 3, 5};
  const auto without = dropped(device, false, seeds);
  const auto with = dropped(device, true, seeds);
  for (size_t i = 0; i < seeds.size(); ++i) {
    EXPECT_TRUE(same_bits(with[i], without[i])) << i;
  }
  EXPECT_TRUE(same_bits(with[0], with[2]));
  EXPECT_FALSE(same_bits(with[0], with[1]));
}

TEST(Replay, CallsTheWorkOnTheCpu) { expect_same_numbers(c10::kCPU); }

TEST_F(ReplayOnGpu, DrawsAnewAndComputesTheSame) {
  expect_same_numbers(kReplayGpu);
}

TEST(Replay, PassesOnWhatTheWorkThrows) {
  Replay replay(c10::kCPU);
  EXPECT_THROW(replay.record([] { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_THROW(replay.run(), std::logic_error);
}

TEST(Replay, SaysInOneLineWhyNot) {
  EXPECT_EQ(why_not_recorded(std::runtime_error("a\nb")), "a");
  try {
    TORCH_CHECK(false, "sizes differ\nand more");
  } catch (const std::exception& error) {
    EXPECT_EQ(why_not_recorded(error), "sizes differ");
  }
}

// What waits for the GPU breaks a recording. LibTorch goes on as before: with
// random numbers, with memory, and with other recordings.
TEST_F(ReplayOnGpu, LeavesAllAsItWasIfItCannotRecord) {
  const Tensor x = torch::ones({1000}, kReplayGpu);
  for (int64_t i = 0; i < 3; ++i) {
    Replay replay(kReplayGpu);
    EXPECT_ANY_THROW(replay.record([&] {
      const Tensor y = torch::dropout(x, 0.5, true);
      (y + y.sum().item<double>()).mul_(2);
    }));
    EXPECT_ANY_THROW(
        replay.record([&] { throw std::runtime_error("of its own"); }));
    expect_same_numbers(kReplayGpu);
    EXPECT_EQ((x + 1).sum().item<double>(), 2000);
  }
}

TEST_F(ReplayOnGpu, RefusesNumbersThatAreDrawnOnTheProcessor) {
  const Tensor x = torch::ones({8}, kReplayGpu);
  Replay replay(kReplayGpu);
  expect_error<RunError>(
      [&] { replay.record([&] { x.mul_(torch::rand({1}).item<double>()); }); },
      "draws random numbers on the processor");
  EXPECT_EQ(x.sum().item<double>(), 8);
}

TEST_F(ReplayOnGpu, SharesMemoryWithAnother) {
  const Tensor x = random_normal({256, 256}, 1, at::kFloat).to(kReplayGpu);
  Tensor a, b;
  Replay first(kReplayGpu), second(kReplayGpu, &first);
  first.record([&] { a = (x + 1).mul(2).sub(3); });
  second.record([&] { b = (a + 1).mul(2).sub(3); });
  x.fill_(1);
  first.run();
  second.run();
  EXPECT_EQ(b.min().item<double>(), 1);
  EXPECT_EQ(b.max().item<double>(), 1);
}

}  // namespace
}  // namespace kith
