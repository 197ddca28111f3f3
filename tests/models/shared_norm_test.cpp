#include "kith/models/shared_norm.h"

#include <mutex>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// What a layer makes of a batch and of a gradient behind it.
struct Run {
  Tensor y;
  Tensor dx;
  Tensor dweight;
  Tensor dbias;
  Tensor running_mean;
  Tensor running_var;
};

template <class Layer, class Forward>
Run run(Layer& layer, const Tensor& x, const Tensor& dy, Forward forward) {
  Tensor leaf = x.detach().clone().requires_grad_();
  const Tensor y = forward(leaf);
  y.backward(dy);
  return {y.detach(),
          leaf.grad(),
          layer.weight.grad(),
          layer.bias.grad(),
          layer.running_mean.clone(),
          layer.running_var.clone()};
}

template <class Layer>
void set_values(Layer& layer, at::ScalarType type) {
  layer.to(type);
  const torch::NoGradGuard no_grad;
  layer.weight.copy_(random_normal({3}, 11));
  layer.bias.copy_(random_normal({3}, 12));
  layer.running_mean.copy_(random_normal({3}, 13));
}

/// 13 pictures; rank 0 has the fewest.
void expect_that_of_one_batch(at::ScalarType type, double tolerance) {
  const Tensor x = (3 * random_normal({13, 3, 4, 5}, 1) + 7).to(type);
  const Tensor dy = random_normal({13, 3, 4, 5}, 2).to(type);
  const auto options = torch::nn::BatchNorm2dOptions(3).momentum(0.3).eps(0.01);
  torch::nn::BatchNorm2d plain(options);
  set_values(*plain, type);
  const Run one =
      run(*plain, x, dy, [&](const Tensor& t) { return plain->forward(t); });
  for (const int64_t size : kRankCounts) {
    SCOPED_TRACE(std::to_string(size) + " ranks");
    Run all{torch::empty_like(x),
            torch::empty_like(x),
            torch::zeros({3}, type),
            torch::zeros({3}, type),
            {},
            {}};
    std::mutex mutex;
    const auto errors = errors_of_ranks(size, [&](Communicator& ranks) {
      torch::nn::BatchNorm2d norm(options);
      set_values(*norm, type);
      SharedNorm layer(norm);
      share_statistics(layer, ranks);
      const int64_t begin = 13 * ranks.rank() / size;
      const int64_t end = 13 * (ranks.rank() + 1) / size;
      const Run mine =
          run(*norm, x.slice(0, begin, end), dy.slice(0, begin, end),
              [&](const Tensor& t) { return layer.forward(t); });
      const std::lock_guard lock(mutex);
      all.y.slice(0, begin, end).copy_(mine.y);
      all.dx.slice(0, begin, end).copy_(mine.dx);
      all.dweight += mine.dweight;
      all.dbias += mine.dbias;
      EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
      // The same bits on every rank.
      if (all.running_mean.defined()) {
        EXPECT_TRUE(all.running_mean.equal(mine.running_mean));
        EXPECT_TRUE(all.running_var.equal(mine.running_var));
      }
      all.running_mean = mine.running_mean;
      all.running_var = mine.running_var;
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    EXPECT_LE(max_difference(all.y, one.y), tolerance);
    EXPECT_LE(max_difference(all.dx, one.dx), tolerance);
    EXPECT_LE(max_difference(all.dweight, one.dweight), 100 * tolerance);
    EXPECT_LE(max_difference(all.dbias, one.dbias), 100 * tolerance);
    EXPECT_LE(max_difference(all.running_mean, one.running_mean), tolerance);
    EXPECT_LE(max_difference(all.running_var, one.running_var), tolerance);
  }
}

TEST(SharedNorm, IsThatOfOneBatchInDouble) {
  expect_that_of_one_batch(at::kDouble, 1e-12);
}

TEST(SharedNorm, IsThatOfOneBatchInFloat) {
  expect_that_of_one_batch(at::kFloat, 2e-5);
}

TEST(SharedNorm, NeedsTwoValuesAChannel) {
  const auto errors = errors_of_ranks(1, [&](Communicator& ranks) {
    SharedNorm layer(torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(2)));
    share_statistics(layer, ranks);
    layer.forward(torch::ones({1, 2, 1, 1}));
  });
  EXPECT_NE(errors[0].find("more than 1 value per channel"), std::string::npos)
      << errors[0];
}

TEST(SharedNorm, TwoRanksWithOneValueEachAreEnough) {
  const auto errors = errors_of_ranks(2, [&](Communicator& ranks) {
    SharedNorm layer(torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(2)));
    share_statistics(layer, ranks);
    const Tensor y = layer.forward(
        torch::full({1, 2, 1, 1}, static_cast<float>(ranks.rank())));
    EXPECT_NEAR(y[0][0][0][0].item<double>(), ranks.is_first() ? -1 : 1, 1e-4);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace kith
