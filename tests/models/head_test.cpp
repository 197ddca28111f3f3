#include "kith/models/head.h"

#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

HeadOptions options(const std::string& yaml) {
  return read_options<HeadOptions>(parse_config(yaml, "test"), "model.head");
}

/// A head whose linear layer is the identity, so that the rest can be seen.
std::shared_ptr<Head> transparent(const std::string& yaml, int64_t dim) {
  const auto head = std::make_shared<Head>(options(yaml), dim);
  const torch::NoGradGuard no_grad;
  head->named_parameters()["linear.weight"].copy_(torch::eye(dim));
  head->named_parameters()["linear.bias"].zero_();
  return head;
}

Tensor positive_features() {
  return random_normal({3, 4, 5, 6}, 1, at::kFloat).abs() + 0.1;
}

TEST(Head, MakesEmbeddingsOfTheWantedSize) {
  Head head(options("{dim: 7}"), 4);
  const Tensor x = head.forward(positive_features());
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{3, 7}));
  EXPECT_LE(max_difference(x.norm(2, 1), torch::ones({3})), 1e-6);
}

TEST(Head, AveragePooling) {
  const Tensor f = positive_features();
  const auto head = transparent("{dim: 4, pooling: average, l2: false}", 4);
  EXPECT_LE(max_difference(head->forward(f), f.mean({2, 3})), 1e-6);
  EXPECT_FALSE(head->named_parameters().contains("gem_p"));
}

TEST(Head, GemWithPowerOneIsTheAverageOfPositiveFeatures) {
  const Tensor f = positive_features();
  const auto head = transparent("{dim: 4, gem_p: 1, l2: false}", 4);
  EXPECT_LE(max_difference(head->forward(f), f.mean({2, 3})), 1e-6);
}

TEST(Head, GemIsThePowerMean) {
  const Tensor f = positive_features();
  const auto head = transparent("{dim: 4, gem_p: 3, l2: false}", 4);
  const Tensor expected = f.to(torch::kDouble).pow(3).mean({2, 3}).pow(1. / 3);
  EXPECT_LE(max_difference(head->forward(f), expected), 1e-5);
}

TEST(Head, GemLearnsItsPowerAndSurvivesZeros) {
  const auto head = transparent("{dim: 4}", 4);
  Tensor f = positive_features();
  f[0].zero_();
  f.requires_grad_();
  head->forward(f).select(1, 0).sum().backward();
  const Tensor grad = head->named_parameters()["gem_p"].grad();
  ASSERT_TRUE(grad.defined());
  EXPECT_NE(grad.item<float>(), 0);
  EXPECT_TRUE(torch::isfinite(grad).all().item<bool>());
  EXPECT_TRUE(torch::isfinite(f.grad()).all().item<bool>());
}

TEST(Head, LayerNormStandsBeforeOrAfterTheLinearLayer) {
  const Tensor f = positive_features();
  const Tensor pooled = f.mean({2, 3});
  for (const std::string where : {"before", "after"}) {
    const auto head = transparent(
        "{dim: 4, pooling: average, l2: false, layer_norm: " + where + "}", 4);
    {
      // Twice the coordinates plus a bias: order now matters.
      const torch::NoGradGuard no_grad;
      head->named_parameters()["linear.weight"].mul_(2);
      head->named_parameters()["linear.bias"].copy_(
          torch::arange(4, torch::kFloat));
    }
    const Tensor bias = torch::arange(4, torch::kFloat);
    const Tensor expected = where == "before"
                                ? 2 * torch::layer_norm(pooled, {4}) + bias
                                : torch::layer_norm(2 * pooled + bias, {4});
    EXPECT_LE(max_difference(head->forward(f), expected), 1e-5) << where;
  }
}

TEST(Head, LayerNormHasTheWidthOfItsPlace) {
  const auto width = [](const std::string& where) {
    Head head(options("{dim: 7, layer_norm: " + where + "}"), 4);
    return head.named_parameters()["norm.weight"].size(0);
  };
  EXPECT_EQ(width("before"), 4);
  EXPECT_EQ(width("after"), 7);
}

TEST(Head, RefusesBadOptions) {
  const auto refused = [](const std::string& yaml, const auto&... parts) {
    expect_error<ConfigError>([&] { options(yaml); }, parts...);
  };
  refused("{dim: 0}", "model.head.dim");
  refused("{pooling: gemm}", "model.head.pooling", "did you mean 'gem'?");
  refused("{gem_p: 0}", "model.head.gem_p", "greater than 0");
  refused("{layer_norm: both}", "one of none, before, after");
}

}  // namespace
}  // namespace kith
