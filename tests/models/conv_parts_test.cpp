#include "kith/models/conv_parts.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/models/backbones.h"
#include "kith/models/drop_path.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

TEST(DropPath, LeavesOutPicturesAndKeepsTheMean) {
  torch::manual_seed(1);
  const Tensor x = random_normal({4000, 2, 3}, 1).add_(5);
  const Tensor y = drop_path(x, 0.25, true);
  const Tensor factor = (y / x).flatten(1);
  // Of one picture all numbers have the same factor: 0, or 1 / 0.75.
  EXPECT_LE(max_difference(factor.amax(1), factor.amin(1)), 1e-12);
  const Tensor left_out = factor.select(1, 0) == 0;
  EXPECT_NEAR(left_out.to(torch::kDouble).mean().item<double>(), 0.25, 0.03);
  const Tensor kept = factor.select(1, 0).masked_select(~left_out);
  EXPECT_LE(max_difference(kept, torch::full_like(kept, 1 / 0.75)), 1e-12);
}

TEST(DropPath, DoesNothingInEvaluationOrWithoutARate) {
  const Tensor x = random_normal({4, 3}, 1);
  EXPECT_TRUE(drop_path(x, 0.5, false).is_same(x));
  EXPECT_TRUE(drop_path(x, 0, true).is_same(x));
}

TEST(DropPath, OfANetworkDependsOnTheSeedAlone) {
  ConvnextOptions options;
  options.depths = {2, 2};
  options.widths = {8, 8};
  options.layer_scale = 1;
  options.drop_path = 0.9;
  Convnext net(options, {3, 16, "train"});
  const Tensor images = random_normal({16, 3, 16, 16}, 1, at::kFloat);
  const auto map = [&](uint64_t seed) {
    torch::manual_seed(seed);
    return net.forward(images).map.detach();
  };
  net.train();
  EXPECT_TRUE(same_bits(map(1), map(1)));
  EXPECT_FALSE(same_bits(map(1), map(2)));
  net.eval();
  EXPECT_TRUE(same_bits(map(1), map(2)));
}

TEST(SqueezeExcite, IsTheFormula) {
  torch::nn::Module owner;
  const SqueezeExcite squeeze(owner, 4, 2, Activation::kRelu, "hardsigmoid");
  owner.to(torch::kDouble);
  const auto parameters = owner.named_parameters();
  const torch::NoGradGuard no_grad;
  for (const auto& t : parameters) {
    Tensor(t.value()).copy_(random_normal(t.value().sizes().vec(), 5));
  }
  const Tensor x = random_normal({3, 4, 5, 2}, 2);
  Tensor s = x.mean({2, 3}, true);
  s = torch::conv2d(s, parameters["fc1.weight"], parameters["fc1.bias"]).relu();
  s = torch::conv2d(s, parameters["fc2.weight"], parameters["fc2.bias"]);
  s = ((s + 3) / 6).clamp(0, 1);
  EXPECT_LE(max_difference(squeeze(x.clone()), x * s), 1e-12);
}

TEST(Activated, IsTheFunction) {
  const Tensor x = random_normal({100}, 1);
  EXPECT_TRUE(torch::equal(activated(Activation::kRelu, x.clone()), x.relu()));
  EXPECT_LE(
      max_difference(activated(Activation::kSilu, x.clone()), x * x.sigmoid()),
      1e-12);
  EXPECT_LE(max_difference(activated(Activation::kHardswish, x.clone()),
                           x * (x + 3).clamp(0, 6) / 6),
            1e-12);
}

}  // namespace
}  // namespace kith
