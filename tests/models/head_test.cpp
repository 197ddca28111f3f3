#include "kith/models/head.h"

#include <cmath>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/hostile_rows.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

HeadOptions options(const std::string& yaml) {
  return read_options<HeadOptions>(parse_config(yaml, "test"), "model.head");
}

/// All that a head wants to know of a backbone.
class NoBackbone final : public Backbone {
 public:
  explicit NoBackbone(int64_t features, bool has_token = false)
      : features_(features), has_token_(has_token) {}
  Features run(const Tensor& images, const Mixing&) override {
    return {images, {}};
  }
  int64_t features() const override { return features_; }
  bool has_token() const override { return has_token_; }

 private:
  int64_t features_;
  bool has_token_;
};

/// A head whose linear layer is the identity, so that the rest can be seen.
std::shared_ptr<Head> transparent(const std::string& yaml, int64_t dim) {
  const auto head =
      std::make_shared<Head>(options(yaml), NoBackbone(dim, true));
  const torch::NoGradGuard no_grad;
  head->named_parameters()["linear.weight"].copy_(torch::eye(dim));
  head->named_parameters()["linear.bias"].zero_();
  return head;
}

Tensor positive_features() {
  return random_normal({3, 4, 5, 6}, 1, at::kFloat).abs() + 0.1;
}

TEST(Head, MakesEmbeddingsOfTheWantedSize) {
  Head head(options("{dim: 7}"), NoBackbone(4));
  const Tensor x = head.forward({positive_features(), {}});
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{3, 7}));
  EXPECT_LE(max_difference(x.norm(2, 1), torch::ones({3})), 1e-6);
}

TEST(Head, NestedSizesRiseToTheWhole) {
  const auto sizes = [](const std::string& yaml) {
    return nested_sizes(options(yaml), 8);
  };
  EXPECT_TRUE(sizes("{}").empty());
  EXPECT_EQ(sizes("{nested: [2, 4]}"), (std::vector<int64_t>{2, 4, 8}));
  EXPECT_EQ(sizes("{nested: [2, 8]}"), (std::vector<int64_t>{2, 8}));
  const auto refused = [](const std::string& yaml, const std::string& why) {
    expect_error<ConfigError>([&] { Head head(options(yaml), NoBackbone(4)); },
                              why);
  };
  refused("{dim: 8, nested: [4, 2]}", "'model.head.nested' must rise");
  refused("{dim: 8, nested: [2, 2]}", "must rise, got [2, 2]");
  refused("{dim: 8, nested: [2, 9]}", "but embeddings have 8");
  refused("{dim: 0, nested: [5]}", "but embeddings have 4");
  refused("{dim: 8, nested: [0]}", "model.head.nested");
  refused("{dim: 8, nested: [2], nested_weights: [1]}",
          "has 1 weights for the 2 sizes [2, 8]");
  refused("{dim: 8, nested_weights: [1]}", "there are none");
}

TEST(Head, WithoutALinearLayerGivesWhatWasPooled) {
  Head head(options("{dim: 0, pooling: average}"), NoBackbone(4));
  EXPECT_EQ(head.dim(), 4);
  EXPECT_TRUE(head.parameters().empty());
  const Tensor map = positive_features();
  const Tensor mean = map.mean({2, 3});
  EXPECT_LE(
      max_difference(head.forward({map, {}}), mean / mean.norm(2, 1, true)),
      1e-6);
  const Tensor half = head.forward({map.to(torch::kBFloat16), {}});
  EXPECT_EQ(half.scalar_type(), torch::kFloat);
  EXPECT_EQ(head.forward({map.to(torch::kDouble), {}}).scalar_type(),
            torch::kDouble);
  const auto refuse = [](const std::string& init) {
    expect_error<ConfigError>(
        [&] { Head(options("{dim: 0, init: " + init + "}"), NoBackbone(4)); },
        "'model.head.init' is " + init, "'model.head.dim' is 0");
  };
  refuse("whitening");
  refuse("pair_whitening");
  refuse("he_normal");
}

TEST(Head, AveragePooling) {
  const Tensor f = positive_features();
  const auto head = transparent("{dim: 4, pooling: average, l2: false}", 4);
  EXPECT_LE(max_difference(head->forward({f, {}}), f.mean({2, 3})), 1e-6);
  EXPECT_FALSE(head->named_parameters().contains("gem_p"));
}

TEST(Head, GemWithPowerOneIsTheAverageOfPositiveFeatures) {
  const Tensor f = positive_features();
  const auto head = transparent("{dim: 4, gem_p: 1, l2: false}", 4);
  EXPECT_LE(max_difference(head->forward({f, {}}), f.mean({2, 3})), 1e-6);
}

TEST(Head, GemIsThePowerMean) {
  const Tensor f = positive_features();
  const auto head = transparent("{dim: 4, gem_p: 3, l2: false}", 4);
  const Tensor expected = f.to(torch::kDouble).pow(3).mean({2, 3}).pow(1. / 3);
  EXPECT_LE(max_difference(head->forward({f, {}}), expected), 1e-5);
}

TEST(Head, GemLearnsItsPowerAndSurvivesZeros) {
  const auto head = transparent("{dim: 4}", 4);
  Tensor f = positive_features();
  f[0].zero_();
  f.requires_grad_();
  head->forward({f, {}}).select(1, 0).sum().backward();
  const Tensor grad = head->named_parameters()["gem_p"].grad();
  ASSERT_TRUE(grad.defined());
  EXPECT_NE(grad.item<float>(), 0);
  EXPECT_TRUE(torch::isfinite(grad).all().item<bool>());
  EXPECT_TRUE(torch::isfinite(f.grad()).all().item<bool>());
}

TEST(Head, MaxAndMaxPlusAverage) {
  const Tensor f = random_normal({3, 4, 5, 6}, 1, at::kFloat);
  const Tensor most = f.amax({2, 3});
  EXPECT_TRUE(torch::equal(
      transparent("{dim: 4, pooling: max, l2: false}", 4)->forward({f, {}}),
      most));
  EXPECT_LE(
      max_difference(transparent("{dim: 4, pooling: max_average, l2: false}", 4)
                         ->forward({f, {}}),
                     most + f.mean({2, 3})),
      1e-6);
}

TEST(Head, MaximumGivesItsGradientToOnePosition) {
  const Tensor f = torch::ones({1, 2, 3, 3}).requires_grad_();
  transparent("{dim: 2, pooling: max, l2: false}", 2)
      ->forward({f, {}})
      .sum()
      .backward();
  Tensor expected = torch::zeros({1, 2, 3, 3});
  expected.select(2, 0).select(2, 0).fill_(1);
  EXPECT_TRUE(torch::equal(f.grad(), expected));
}

TEST(Head, TheClassTokenIsTakenAsItIs) {
  const Tensor token = random_normal({3, 4}, 1, at::kFloat);
  const auto head = transparent("{dim: 4, pooling: class_token, l2: false}", 4);
  EXPECT_TRUE(torch::equal(head->forward({positive_features(), token}), token));
  expect_error<ConfigError>(
      [] { Head(options("{pooling: class_token}"), NoBackbone(4, false)); },
      "model.head.pooling", "class_token", "vit_b_16");
}

TEST(Head, ClassTokenWithTheAverageBesideIt) {
  const Tensor f = positive_features();
  const Tensor token = random_normal({f.size(0), f.size(1)}, 1, at::kFloat);
  const int64_t width = f.size(1);
  Head head(options("{pooling: class_token_and_average, dim: 5}"),
            NoBackbone(width, true));
  EXPECT_EQ(head.features(), 2 * width);
  const Tensor pooled = head.pooled({f, token});
  EXPECT_TRUE(torch::equal(pooled.slice(1, 0, width), token));
  // Positions are the patches: their average is that of the tokens.
  const Tensor tokens = f.flatten(2).transpose(1, 2);
  EXPECT_LE(max_difference(pooled.slice(1, width), tokens.mean(1)), 1e-6);
  EXPECT_EQ(head.forward({f, token}).size(1), 5);
  expect_error<ConfigError>(
      [] {
        Head(options("{pooling: class_token_and_average}"),
             NoBackbone(4, false));
      },
      "model.head.pooling", "class_token_and_average");
}

TEST(Head, ComputesInThePrecisionOfItsWeights) {
  const Tensor f = positive_features();
  for (const std::string pooling :
       {"gem", "average", "max", "max_average", "class_token"}) {
    SCOPED_TRACE(pooling);
    const auto head = transparent("{dim: 4, pooling: " + pooling + "}", 4);
    const Features wide = {f, f.mean({2, 3})};
    const Features narrow = {f.to(torch::kBFloat16),
                             wide.token.to(torch::kBFloat16)};
    const Features rounded = {narrow.map.to(torch::kFloat),
                              narrow.token.to(torch::kFloat)};
    EXPECT_TRUE(same_bits(head->forward(narrow), head->forward(rounded)));
    const Tensor x = head->forward(wide);
    head->to(torch::kDouble);
    const Tensor y = head->forward(
        {f.to(torch::kDouble), f.to(torch::kDouble).mean({2, 3})});
    EXPECT_EQ(y.scalar_type(), torch::kDouble);
    EXPECT_LE(max_difference(x, y), 1e-6);
  }
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
    EXPECT_LE(max_difference(head->forward({f, {}}), expected), 1e-5) << where;
  }
}

TEST(Head, LayerNormHasTheWidthOfItsPlace) {
  const auto width = [](const std::string& where) {
    Head head(options("{dim: 7, layer_norm: " + where + "}"), NoBackbone(4));
    return head.named_parameters()["norm.weight"].size(0);
  };
  EXPECT_EQ(width("before"), 4);
  EXPECT_EQ(width("after"), 7);
}

TEST(Head, LayerNormMayHaveNoParameters) {
  const auto head = transparent(
      "{dim: 4, pooling: average, layer_norm: after, layer_norm_affine: false, "
      "l2: false}",
      4);
  EXPECT_FALSE(head->named_parameters().contains("norm.weight"));
  const Tensor f = positive_features();
  EXPECT_LE(max_difference(head->forward({f, {}}),
                           torch::layer_norm(f.mean({2, 3}), {4})),
            1e-5);
}

TEST(Head, StartsAsLibTorchOrHeNormal) {
  torch::manual_seed(3);
  const auto linear = [](const std::string& yaml) {
    const Head head(options(yaml), NoBackbone(500));
    const auto parameters = head.named_parameters();
    return std::pair(parameters["linear.weight"], parameters["linear.bias"]);
  };
  const auto [weight, bias] = linear("{dim: 200}");
  EXPECT_LE(weight.abs().max().item<double>(), 1 / std::sqrt(500.0) + 1e-7);
  EXPECT_GT(bias.abs().max().item<double>(), 0);
  const auto [he_weight, he_bias] = linear("{dim: 200, init: he_normal}");
  EXPECT_NEAR(he_weight.mean().item<double>(), 0, 1e-3);
  EXPECT_NEAR(he_weight.std().item<double>(), std::sqrt(2.0 / 200), 1e-3);
  EXPECT_EQ(he_bias.abs().max().item<double>(), 0);
}

TEST(Head, RefusesBadOptions) {
  const auto refused = [](const std::string& yaml, const auto&... parts) {
    expect_error<ConfigError>([&] { options(yaml); }, parts...);
  };
  refused("{dim: -1}", "model.head.dim");
  refused("{pooling: gemm}", "model.head.pooling", "did you mean 'gem'?");
  refused("{gem_p: 0}", "model.head.gem_p", "greater than 0");
  refused("{init: normal}", "model.head.init", "one of uniform, he_normal");
  refused("{layer_norm: both}", "one of none, before, after");
  expect_error<ConfigError>([] { Head({.dim = -1}, Convnet()); }, "head.dim");
}

TEST(Head, NormalisesBeforeTheLinearLayer) {
  const Tensor f = positive_features();
  const auto head =
      transparent("{dim: 4, pooling: average, l2_before: true, l2: false}", 4);
  const Tensor mean = f.mean({2, 3});
  const Tensor unit = mean / mean.norm(2, 1, true);
  EXPECT_LE(max_difference(head->pooled({f, {}}), unit), 1e-6);
  EXPECT_LE(max_difference(head->forward({f, {}}), unit), 1e-6);
}

TEST(Head, MakesUnitVectorsAtAnyScale) {
  for (const std::string where : {"l2: true", "l2: false, l2_before: true"}) {
    const auto run = [&](double scale) {
      const Tensor f = (positive_features() * scale).requires_grad_();
      const Tensor x = transparent("{dim: 4, pooling: max, " + where + "}", 4)
                           ->forward({f, {}});
      x.select(1, 1).sum().backward();
      return std::pair(x.detach(), f.grad());
    };
    const auto [unit, gradient] = run(1);
    EXPECT_LE(max_difference(unit.norm(2, 1), torch::ones({3})), 1e-6);
    for (const double scale : {kHuge, kTiny}) {
      const auto [x, slope] = run(scale);
      EXPECT_TRUE(same_bits(x, unit)) << where << scale;
      EXPECT_LE(max_difference(slope * scale, gradient), 1e-6)
          << where << scale;
    }
  }
}

TEST(Head, TakesALinearLayer) {
  Head head(options("{dim: 2, pooling: average, l2: false}"), NoBackbone(4));
  const Tensor projection = random_normal({2, 4}, 5, at::kDouble);
  const Tensor mean = random_normal({4}, 6, at::kDouble);
  head.set_linear(projection, mean);
  const Tensor f = positive_features();
  const Tensor x = f.mean({2, 3}).to(at::kDouble) - mean;
  EXPECT_LE(max_difference(head.forward({f, {}}).to(at::kDouble),
                           x.mm(projection.t())),
            1e-5);
}

TEST(Head, OfAWhiteningHasNoMoreDimensionsThanFeatures) {
  expect_error<ConfigError>(
      [] { Head(options("{dim: 5, init: whitening}"), NoBackbone(4)); },
      "model.head.dim", "at most 4");
}

}  // namespace
}  // namespace kith
