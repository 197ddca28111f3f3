#include "kith/models/conv_norm.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// A module with one pair of layers in double, and batch norm as far from the
/// identity as after training.
struct Pair {
  Pair(const std::string& batch_norm, const ConvShape& shape)
      : pair(module, "conv1", "bn1", shape, batch_norm) {
    module.to(torch::kDouble);
    const torch::NoGradGuard no_grad;
    uint64_t seed = 1;
    for (Tensor& t : module.parameters())
      t.copy_(random_normal(t.sizes().vec(), ++seed));
    named("bn1.running_mean").copy_(random_normal({shape.out}, ++seed));
    named("bn1.running_var").copy_(random_normal({shape.out}, ++seed).exp());
  }

  Tensor named(const std::string& name) {
    const Tensor* parameter = module.named_parameters().find(name);
    return parameter != nullptr ? *parameter : module.named_buffers()[name];
  }

  torch::nn::Module module;
  ConvNorm pair;
};

/// What the two layers do with kept statistics, one after the other.
Tensor two_layers(Pair& p, const Tensor& x, const ConvShape& shape) {
  const Tensor bias = shape.bias ? p.named("conv1.bias") : Tensor();
  const Tensor y =
      torch::conv2d(x, p.named("conv1.weight"), bias, shape.stride,
                    shape.padded ? shape.kernel / 2 : 0, 1, shape.groups);
  return torch::batch_norm(y, p.named("bn1.weight"), p.named("bn1.bias"),
                           p.named("bn1.running_mean"),
                           p.named("bn1.running_var"), false, 0.1, shape.eps,
                           false);
}

const ConvShape kShapes[] = {{.in = 3, .out = 4},
                             {.in = 3, .out = 5, .kernel = 7, .stride = 2},
                             {.in = 4, .out = 6, .kernel = 1},
                             {.in = 4, .out = 4, .stride = 2, .groups = 4},
                             {.in = 3, .out = 4, .bias = true, .eps = 0.1},
                             {.in = 3, .out = 4, .stride = 2, .padded = false}};

TEST(ConvNorm, FoldedValuesAndGradientsAreThoseOfTheTwoLayers) {
  for (const ConvShape& shape : kShapes) {
    for (const std::string mode : {"train", "stats", "all"}) {
      SCOPED_TRACE(mode + ", kernel " + std::to_string(shape.kernel));
      Pair p(mode, shape);
      p.module.train(mode != "train");
      std::vector<Tensor> inputs = {
          random_normal({2, shape.in, 9, 8}, 7).requires_grad_()};
      for (const Tensor& t : p.module.parameters()) {
        if (t.requires_grad()) inputs.push_back(t);
      }
      EXPECT_EQ(inputs.size(),
                (mode == "all" ? 2u : 4u) + (shape.bias ? 1u : 0u));
      const Tensor y = p.pair(inputs[0]);
      const Tensor expected = two_layers(p, inputs[0], shape);
      EXPECT_LE(max_difference(y, expected), 1e-10);
      const Tensor direction = random_normal(y.sizes().vec(), 8);
      const auto got = torch::autograd::grad({y}, inputs, {direction});
      const auto want = torch::autograd::grad({expected}, inputs, {direction});
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_LE(max_difference(got[i], want[i]), 1e-10) << i;
      }
    }
  }
}

TEST(ConvNorm, WithoutAGraphTheResultIsTheSame) {
  for (const std::string mode : {"train", "stats", "all"}) {
    Pair p(mode, kShapes[0]);
    p.module.eval();
    const Tensor x = random_normal({2, 3, 9, 8}, 7);
    const Tensor with_graph = p.pair(x);
    const torch::NoGradGuard no_grad;
    EXPECT_TRUE(same_bits(p.pair(x), with_graph.detach())) << mode;
  }
}

TEST(ConvNorm, FoldsOnceWhileThatIsWanted) {
  Pair p("train", kShapes[0]);
  p.module.eval();
  const torch::NoGradGuard no_grad;
  const Tensor x = random_normal({2, 3, 9, 8}, 7);
  const Tensor expected = p.pair(x);
  {
    const FoldOnce once;
    EXPECT_TRUE(same_bits(p.pair(x), expected));
    // Seen only because the weights change where they must not.
    p.named("bn1.weight").mul_(2);
    EXPECT_TRUE(same_bits(p.pair(x), expected));
    {
      const FoldOnce inner;
      EXPECT_FALSE(same_bits(p.pair(x), expected));
    }
    EXPECT_TRUE(same_bits(p.pair(x), expected));
    // Nothing is kept where a graph is wanted, in training, or by others.
    const torch::AutoGradMode with_graph(true);
    EXPECT_FALSE(same_bits(p.pair(x).detach(), expected));
    std::thread([&] {
      const torch::NoGradGuard here;
      EXPECT_FALSE(same_bits(p.pair(x), expected));
    }).join();
  }
  EXPECT_LE(max_difference(p.pair(x), two_layers(p, x, kShapes[0])), 1e-12);
}

TEST(ConvNorm, OnlyTrainTakesAndKeepsTheStatisticsOfTheBatch) {
  for (const std::string mode : {"train", "stats", "all"}) {
    Pair p(mode, kShapes[0]);
    p.module.train();
    const Tensor mean = p.named("bn1.running_mean").clone();
    const Tensor var = p.named("bn1.running_var").clone();
    const Tensor y = p.pair(random_normal({2, 3, 9, 8}, 7));
    const bool same = torch::equal(p.named("bn1.running_mean"), mean) &&
                      torch::equal(p.named("bn1.running_var"), var);
    EXPECT_EQ(same, mode != "train") << mode;
    EXPECT_EQ(p.named("bn1.num_batches_tracked").item<int64_t>(),
              mode == "train" ? 1 : 0);
    // With the batch's own statistics each channel has mean beta.
    const double off = max_difference(y.mean({0, 2, 3}), p.named("bn1.bias"));
    EXPECT_EQ(off < 1e-10, mode == "train") << mode;
  }
}

TEST(ConvNorm, MomentumIsTheShareOfABatch) {
  Pair p("train", {.in = 3, .out = 4, .momentum = 0.9});
  p.module.train();
  const Tensor before = p.named("bn1.running_mean").clone();
  const Tensor x = random_normal({2, 3, 9, 8}, 7);
  const Tensor batch = p.pair.convolve(x).mean({0, 2, 3});
  p.pair(x);
  EXPECT_LE(
      max_difference(p.named("bn1.running_mean"), 0.1 * before + 0.9 * batch),
      1e-12);
}

TEST(ConvNorm, TheResultMayBeChangedInPlace) {
  for (const std::string mode : {"train", "stats"}) {
    Pair p(mode, kShapes[0]);
    const Tensor x = random_normal({2, 3, 9, 8}, 7).requires_grad_();
    p.pair(x).add_(1).relu_().sum().backward();
    EXPECT_TRUE(x.grad().defined());
  }
}

TEST(ConvNorm, AllNeverTrainsScaleAndShift) {
  const auto trainable = [](Pair& p) {
    std::string names;
    for (const auto& entry : p.module.named_parameters()) {
      if (entry.value().requires_grad()) names += entry.key() + " ";
    }
    return names;
  };
  for (const std::string mode : {"train", "stats", "all"}) {
    Pair p(mode, kShapes[0]);
    const std::string open =
        mode == "all" ? "conv1.weight " : "conv1.weight bn1.weight bn1.bias ";
    EXPECT_EQ(trainable(p), open);
    set_trainable(p.module, false, mode);
    EXPECT_EQ(trainable(p), "");
    set_trainable(p.module, true, mode);
    EXPECT_EQ(trainable(p), open);
  }
}

}  // namespace
}  // namespace kith
