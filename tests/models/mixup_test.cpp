// Manifold mixup: what is drawn, and where backbones mix.

#include "kith/models/mixup.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/models/backbone.h"
#include "kith/models/backbones.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// The largest distance between the distribution of n draws and `exact`
/// (Kolmogorov and Smirnov), times sqrt(n): above 2 once in 1500 samples.
template <class Distribution>
double misfit(double a, double b, const Distribution& exact) {
  constexpr int kDraws = 20'000;
  Rng rng(3, Stream::kMixup);
  std::vector<double> draws;
  for (int i = 0; i < kDraws; ++i) draws.push_back(draw_beta(a, b, rng));
  std::sort(draws.begin(), draws.end());
  EXPECT_GE(draws.front(), 0.0);
  EXPECT_LE(draws.back(), 1.0);
  double worst = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double below = exact(draws[static_cast<size_t>(i)]) * kDraws;
    worst = std::max({worst, std::abs(below - i), std::abs(below - i - 1)});
  }
  return worst / std::sqrt(kDraws);
}

TEST(DrawBeta, HasTheDistribution) {
  EXPECT_LE(misfit(1, 1, [](double x) { return x; }), 2);
  EXPECT_LE(misfit(2, 2, [](double x) { return x * x * (3 - 2 * x); }), 2);
  EXPECT_LE(misfit(3, 1, [](double x) { return x * x * x; }), 2);
  EXPECT_LE(misfit(0.5, 0.5,
                   [](double x) {
                     return 2 / std::numbers::pi * std::asin(std::sqrt(x));
                   }),
            2);
}

TEST(DrawBeta, ExtremesStayNumbers) {
  Rng rng(1, Stream::kMixup);
  for (int i = 0; i < 1000; ++i) {
    const double small = draw_beta(1e-4, 1e-4, rng);
    EXPECT_TRUE(small >= 0 && small <= 1) << small;
    EXPECT_NEAR(draw_beta(1e6, 1e6, rng), 0.5, 0.01);
  }
}

TEST(DrawMixup, DependsOnTheSeedAloneAndReachesEveryPoint) {
  std::vector<int> drawn(3);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Mixup mixup = draw_mixup(2, 3, seed);
    EXPECT_EQ(mixup.lambda, draw_mixup(2, 3, seed).lambda);
    EXPECT_EQ(mixup.seed, seed);
    ++drawn.at(static_cast<size_t>(mixup.point));
  }
  for (const int count : drawn) EXPECT_NEAR(count, 100, 40);
}

TEST(DrawPartners, ArePermutationsByChunk) {
  const Mixup mixup = draw_mixup(2, 3, 5);
  const Tensor partners = draw_partners(mixup, 0, 50);
  EXPECT_EQ(partners.scalar_type(), torch::kLong);
  EXPECT_TRUE(torch::equal(std::get<0>(partners.sort()),
                           torch::arange(50, torch::kLong)));
  EXPECT_TRUE(torch::equal(partners, draw_partners(mixup, 0, 50)));
  EXPECT_FALSE(torch::equal(partners, draw_partners(mixup, 1, 50)));
  EXPECT_EQ(draw_partners(mixup, 0, 0).numel(), 0);
}

/// What every backbone does at each of its points.
void expect_mixes(Backbone& net, int64_t channels, int64_t size) {
  const Tensor partner = torch::tensor({1, 2, 0}, torch::kLong);
  const Tensor images = random_normal({3, channels, size, size}, 1, at::kFloat);
  const torch::NoGradGuard no_grad;
  const Tensor plain = net.forward(images).map;
  const Tensor swapped = plain.index_select(0, partner);
  const double scale = plain.abs().max().item<double>();
  std::vector<Tensor> seen = {plain, swapped};
  for (int64_t point = 0; point < net.mix_points(); ++point) {
    SCOPED_TRACE("point " + std::to_string(point));
    EXPECT_TRUE(same_bits(plain, net.forward(images, {1, point, partner}).map));
    EXPECT_LE(
        max_difference(swapped, net.forward(images, {0, point, partner}).map),
        1e-5 * scale);
    // Half way, every point gives something of its own.
    const Tensor mixed = net.forward(images, {0.7, point, partner}).map;
    for (const Tensor& other : seen) {
      EXPECT_GT(max_difference(mixed, other), 1e-4 * scale);
    }
    seen.push_back(mixed);
  }
}

TEST(Backbones, MixAtTheirPoints) {
  for (const auto& [name, points] :
       {std::pair("convnet", 3), std::pair("mlp", 3),
        std::pair("mobilenet_v2", 3), std::pair("resnet18", 3),
        std::pair("googlenet", 3), std::pair("inception_v1", 3),
        std::pair("bn_inception", 3)}) {
    SCOPED_TRACE(name);
    torch::manual_seed(2);
    const auto net = backbone_registry().make(
        parse_config("{name: " + std::string(name) + "}", "test"),
        "model.backbone", BackboneInput{3, 32, "stats"});
    EXPECT_EQ(net->mix_points(), points);
    expect_mixes(*net, 3, 32);
  }
}

TEST(Backbones, TransformersMixTokens) {
  torch::manual_seed(2);
  VisionTransformer net(
      {.patch = 4, .width = 16, .depth = 4, .heads = 2, .hidden = 32},
      {1, 8, "train"});
  EXPECT_EQ(net.mix_points(), 3);
  expect_mixes(net, 1, 8);
}

TEST(Mixing, PassesGradientsToBothPartners) {
  const Tensor x = random_normal({4, 2, 3}, 1).requires_grad_();
  const Mixing mixing = {0.75, 1, torch::tensor({3, 0, 1, 2}, torch::kLong)};
  EXPECT_TRUE(mixing(0, x).is_same(x));
  const Tensor weights = random_normal({4, 2, 3}, 2);
  (mixing(1, x) * weights).sum().backward();
  const Tensor from = torch::tensor({1, 2, 3, 0}, torch::kLong);
  EXPECT_LE(max_difference(x.grad(), 0.75 * weights +
                                         0.25 * weights.index_select(0, from)),
            1e-12);
}

}  // namespace
}  // namespace kith
