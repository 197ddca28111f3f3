#include "kith/train/gradient_sum.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/gpu.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::Each;

/// Several buckets, one parameter that takes no part, and one that does so in
/// lane 2 only.
struct Net {
  Net() {
    for (const int64_t count : {1'500'000, 1'500'000, 5, 1'500'000, 7}) {
      all.push_back(torch::ones({count}).requires_grad_());
    }
    all.push_back(torch::ones({3}).requires_grad_());  // unused
    all.push_back(torch::ones({4}).requires_grad_());  // of lane 2
  }

  /// Numbers that add up to other bits in another order.
  Tensor loss_of(int64_t lane) const {
    Tensor sum = torch::zeros({});
    for (size_t i = 0; i < 5; ++i) {
      const Tensor scale =
          random_normal({all[i].numel()}, static_cast<uint64_t>(10 * lane) + i)
              .to(at::kFloat);
      sum = sum + (all[i] * scale).sum();
    }
    return lane == 2 ? sum + 3 * all[6].sum() : sum;
  }

  std::vector<Tensor> all;
};

enum class Sent { kAtTheEnd, kEarly };

/// The gradients that a rank has in the end.
std::vector<Tensor> sum_of(Communicator& ranks, Sent sent, int64_t count = 4) {
  const Net net;
  const Lanes lanes(count, ranks);
  GradientSum sum(net.all, lanes, ranks);
  for (int64_t lane = lanes.first; lane < lanes.last; ++lane) {
    const bool is_early = sent == Sent::kEarly && lane + 1 == lanes.last;
    const Tensor loss = net.loss_of(lane);
    if (is_early) sum.begin_last_pass();
    loss.backward();
    if (!is_early) sum.add_lane();
  }
  sum.finish();
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : net.all) gradients.push_back(parameter.grad());
  return gradients;
}

TEST(GradientSum, IsTheSameToTheBitHoweverItIsSent) {
  const std::vector<Tensor> one = sum_of(alone(), Sent::kAtTheEnd);
  ASSERT_FALSE(one[5].defined());
  EXPECT_TRUE(one[6].equal(torch::full({4}, 3.0F)));
  for (const int64_t size : {1, 2, 4}) {
    for (const Sent sent : {Sent::kAtTheEnd, Sent::kEarly}) {
      SCOPED_TRACE(std::to_string(size) + " ranks");
      const auto found = on_ranks<std::vector<Tensor>>(
          size, [&](Communicator& ranks) { return sum_of(ranks, sent); });
      for (const std::vector<Tensor>& gradients : found) {
        EXPECT_FALSE(gradients[5].defined());
        for (const size_t i : {0, 1, 2, 3, 4, 6}) {
          EXPECT_TRUE(gradients[i].equal(one[i])) << i;
        }
      }
    }
  }
}

/// One object adds up step after step, in which other parameters take part.
TEST(GradientSum, ServesManySteps) {
  const auto steps_of = [](Communicator& ranks, int64_t count, Sent sent) {
    const Net net;
    const Lanes lanes(count, ranks);
    GradientSum sum(net.all, lanes, ranks);
    std::vector<Tensor> gradients;
    for (const int64_t step : {0, 1, 2}) {
      for (int64_t lane = lanes.first; lane < lanes.last; ++lane) {
        // Lane 2 has the only gradient of a parameter, but in step 1.
        const Tensor loss = net.loss_of(step == 1 ? lane + 3 : lane) * step;
        const bool is_early = sent == Sent::kEarly && lane + 1 == lanes.last;
        if (is_early) sum.begin_last_pass();
        loss.backward();
        if (!is_early) sum.add_lane();
      }
      sum.finish();
      for (const Tensor& parameter : net.all) {
        const Tensor& grad = parameter.grad();
        gradients.push_back(grad.defined() ? grad.clone() : grad);
        parameter.mutable_grad().reset();
      }
      EXPECT_TRUE(sum.is_of(net.all));
    }
    EXPECT_FALSE(sum.is_of({net.all[0], net.all[1]}));
    return gradients;
  };
  const std::vector<Tensor> one = steps_of(alone(), 4, Sent::kAtTheEnd);
  EXPECT_TRUE(one[6].defined());
  EXPECT_FALSE(one[7 + 6].defined());
  EXPECT_TRUE(one[14 + 6].equal(torch::full({4}, 6.0F)));
  for (const int64_t size : {1, 2, 4}) {
    for (const Sent sent : {Sent::kAtTheEnd, Sent::kEarly}) {
      SCOPED_TRACE(std::to_string(size) + " ranks");
      const auto found = on_ranks<std::vector<Tensor>>(
          size, [&](Communicator& ranks) { return steps_of(ranks, 4, sent); });
      for (const std::vector<Tensor>& gradients : found) {
        ASSERT_EQ(gradients.size(), one.size());
        for (size_t i = 0; i < one.size(); ++i) {
          ASSERT_EQ(gradients[i].defined(), one[i].defined()) << i;
          if (!one[i].defined()) continue;
          EXPECT_TRUE(gradients[i].equal(one[i])) << i;
        }
      }
    }
  }
  // A lane a rank.
  const Net net;
  net.loss_of(0).backward();
  const auto single = on_ranks<std::vector<Tensor>>(
      1, [&](Communicator& ranks) { return steps_of(ranks, 1, Sent::kEarly); });
  EXPECT_TRUE(single[0][14].equal(2 * net.all[0].grad()));
}

/// A gradient lies in memory as its parameter does, and is of its type: an
/// optimiser is slow, or wrong, with others.
TEST(GradientSum, LiesAsTheParameterDoes) {
  const auto found = on_ranks<bool>(2, [](Communicator& ranks) {
    const std::vector<Tensor> all = {
        random_normal({4, 3, 2, 2}, 1)
            .contiguous(torch::MemoryFormat::ChannelsLast)
            .requires_grad_(),
        random_normal({3, 5}, 2).t().detach().requires_grad_(),
        random_normal({6, 5}, 3).narrow(1, 1, 2).detach().requires_grad_(),
        random_normal({7}, 4, at::kFloat).requires_grad_()};
    const auto factors_of = [](const Tensor& parameter, int64_t rank) {
      return random_normal(parameter.sizes().vec(),
                           static_cast<uint64_t>(5 + rank))
          .to(parameter.scalar_type());
    };
    GradientSum sum(all, Lanes(0, ranks), ranks);
    for (const Tensor& parameter : all) {
      (parameter * factors_of(parameter, ranks.rank())).sum().backward();
    }
    sum.add_lane();
    sum.finish();
    for (const Tensor& parameter : all) {
      const Tensor& gradient = parameter.grad();
      EXPECT_EQ(gradient.scalar_type(), parameter.scalar_type());
      EXPECT_TRUE(
          gradient.equal(factors_of(parameter, 0) + factors_of(parameter, 1)));
      if (parameter.is_non_overlapping_and_dense()) {
        EXPECT_EQ(gradient.strides(), parameter.strides());
      }
    }
    return true;
  });
  EXPECT_EQ(found.size(), 2u);
}

TEST(GradientSum, HasRanksWithoutPictures) {
  const auto found = on_ranks<Tensor>(3, [](Communicator& ranks) {
    const Net net;
    GradientSum sum(net.all, Lanes(0, ranks), ranks);
    const Tensor loss = net.loss_of(0);
    sum.begin_last_pass();
    if (ranks.rank() != 1) loss.backward();
    sum.finish();
    return net.all[4].grad();
  });
  const Net net;
  net.loss_of(0).backward();
  for (const Tensor& gradient : found) {
    EXPECT_TRUE(gradient.equal(2 * net.all[4].grad()));
  }
}

TEST(GradientSum, GoesOnAfterAPassThatRanOutOfMemory) {
  const auto errors = errors_of_ranks(3, [](Communicator& ranks) {
    bool failed = false;
    try {
      const Net net;
      GradientSum sum(net.all, Lanes(0, ranks), ranks);
      const Tensor loss = net.loss_of(ranks.rank());
      if (ranks.rank() == 1) {
        // It comes to the first bucket, and no further.
        net.all[1].register_hook([](const Tensor& gradient) {
          TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory");
          return gradient;
        });
      }
      sum.begin_last_pass();
      loss.backward();
      sum.finish();
    } catch (const c10::OutOfMemoryError&) {
      ranks.tell_no_memory();
      failed = true;
    } catch (const RankOutOfMemory&) {
      failed = true;
    }
    EXPECT_TRUE(failed);
    // The next try is that of all.
    EXPECT_EQ(sum_of(ranks, Sent::kEarly, 0).size(), 7u);
  });
  EXPECT_THAT(errors, Each(""));
}

// One of them while its first gradients are on their way: it hears there that
// the other has no memory, and must not say so itself once more.
TEST(GradientSum, GoesOnAfterTwoRanksRanOutOfMemory) {
  const auto errors = errors_of_ranks(3, [](Communicator& ranks) {
    bool failed = false;
    {
      std::vector<Tensor> all;  // a bucket each
      for (int i = 0; i < 3; ++i) {
        all.push_back(torch::ones({3'000'000}).requires_grad_());
      }
      GradientSum sum(all, Lanes(0, ranks), ranks);
      const Tensor loss = (all[0].sum() + all[1].sum()) + all[2].sum();
      if (ranks.rank() > 0) {
        const bool is_late = ranks.rank() == 2;
        all[is_late ? 0 : 2].register_hook([=](const Tensor& gradient) {
          if (is_late) std::this_thread::sleep_for(std::chrono::seconds(1));
          TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory");
          return gradient;
        });
      }
      try {
        try {
          sum.begin_last_pass();
          loss.backward();
          sum.finish();
        } catch (const c10::OutOfMemoryError&) {
          sum.give_up();
          throw;
        }
      } catch (const c10::OutOfMemoryError&) {
        ranks.tell_no_memory();
        failed = true;
      } catch (const RankOutOfMemory&) {
        failed = true;
      }
    }
    EXPECT_TRUE(failed);
    EXPECT_EQ(sum_of(ranks, Sent::kEarly, 0).size(), 7u);
  });
  EXPECT_THAT(errors, Each(""));
}

// The GPU is busy when the last lane is taken, so the host is ahead of it: the
// sender has long given back its copies of lanes when they are added up, while
// the backward pass takes memory for other things.
TEST(GradientSum, OnAGpuKeepsItsCopiesUntilTheyAreAddedUp) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  constexpr int64_t kNumbers = int64_t{1} << 26;  // 256 MB
  constexpr int64_t kLanes = 4;
  const ProductPrecision slow(/*tf32=*/false);
  const auto on_gpu = torch::TensorOptions(torch::kCUDA);
  const Tensor small = torch::ones({4}, on_gpu).requires_grad_();
  const Tensor large = torch::ones({kNumbers}, on_gpu).requires_grad_();
  const Tensor matrix = torch::ones({8192, 8192}, on_gpu);
  Tensor product = torch::empty_like(matrix);
  const Lanes lanes(kLanes, alone());
  GradientSum sum({small, large}, lanes, alone());
  for (int64_t round = 1; round <= 20; ++round) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const bool is_last = lane + 1 == kLanes;
      const Tensor before = small * 2;
      if (is_last) {
        before.register_hook([&](const Tensor& gradient) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          std::vector<Tensor> others;
          for (int i = 0; i < 4; ++i) {
            others.push_back(torch::full({kNumbers}, 1e30, on_gpu));
          }
          return gradient;
        });
      }
      const Tensor first = before.sum();
      // Made later, so its gradient comes first.
      const Tensor second =
          (large * static_cast<double>((lane + 1) * round)).sum();
      const Tensor loss = first + second;
      if (is_last) {
        sum.begin_last_pass();
        const torch::NoGradGuard no_grad;
        // At least 80 ms at 67 TFLOP/s, the most of an H200 in float32.
        for (int i = 0; i < 5; ++i) torch::mm_out(product, matrix, matrix);
      }
      loss.backward();
      if (!is_last) sum.add_lane();
    }
    sum.finish();
    const Tensor expected =
        torch::full({}, 10.0 * static_cast<double>(round), on_gpu);
    EXPECT_TRUE((large.grad() == expected).all().item<bool>()) << round;
    EXPECT_TRUE((small.grad() == 8).all().item<bool>()) << round;
    small.mutable_grad().reset();
    large.mutable_grad().reset();
  }
}

}  // namespace
}  // namespace kith
