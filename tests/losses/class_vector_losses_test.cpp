// The losses with class vectors, by hand on one example of two classes, and
// where their formulas have no slope.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/arcface.h"
#include "kith/losses/cosface.h"
#include "kith/losses/norm_softmax.h"
#include "kith/losses/proxy_anchor.h"
#include "kith/losses/proxy_nca.h"
#include "kith/losses/proxy_nca_pp.h"
#include "kith/losses/soft_triple.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

Tensor rows(const std::vector<double>& values, int64_t width) {
  return torch::tensor(values, torch::kDouble).view({-1, width});
}

LossInput input_of(const Tensor& x, const std::vector<int64_t>& labels) {
  LossInput input;
  input.embeddings = x;
  input.labels = labels_of(labels);
  return input;
}

LossContext with_proxies(const Tensor& proxies) {
  LossContext context;
  context.given = {{"proxies", proxies}};
  return context;
}

/// x = (0.6, 0.8) of class 0; class vectors along the axes, not of unit length.
template <class Type>
double by_hand(const typename Type::Options& options) {
  const Type loss(options, with_proxies(rows({2, 0, 0, 0.5}, 2)));
  const LossOutput output = loss(input_of(rows({0.6, 0.8}, 2), {0}));
  return output.value.item<double>();
}

/// log(1 + e^u)
double softplus(double u) { return std::log1p(std::exp(u)); }

TEST(ClassVectorLosses, NormSoftmaxByHand) {
  EXPECT_NEAR(by_hand<NormSoftmax>({.temperature = 0.5}),
              softplus((0.8 - 0.6) / 0.5), 1e-12);
}

TEST(ClassVectorLosses, ArcFaceByHand) {
  const double target = std::cos(std::acos(0.6) + 0.5);
  EXPECT_NEAR(by_hand<ArcFace>({.scale = 2}), softplus(2 * (0.8 - target)),
              1e-12);
}

TEST(ClassVectorLosses, ArcFaceClampsAsPublished) {
  const auto value = [](const ArcFaceOptions& options) {
    const ArcFace loss(options, with_proxies(rows({1, 0, 0, -1}, 2)));
    return loss(input_of(rows({0.6, 0.8}, 2), {0})).value.item<double>();
  };
  const double target = std::cos(std::acos(0.6) + 0.5);
  EXPECT_NEAR(value({.scale = 2}), softplus(2 * (-0.8 - target)), 1e-12);
  EXPECT_NEAR(value({.scale = 2, .clamp = true}),
              softplus(2 * (1e-10 - target)), 1e-12);
}

TEST(ClassVectorLosses, CosFaceByHand) {
  EXPECT_NEAR(by_hand<CosFace>({.scale = 2, .margin = 0.1}),
              softplus(2 * (0.8 - 0.5)), 1e-12);
}

TEST(ClassVectorLosses, ProxyNcaByHand) {
  // Squared distances 0.8 and 0.4.
  EXPECT_NEAR(by_hand<ProxyNca>({}), 0.8 - 0.4, 1e-12);
  EXPECT_NEAR(by_hand<ProxyNca>({.scale = 3}), 9 * 0.4, 1e-12);
  EXPECT_NEAR(by_hand<ProxyNca>({.include_positive = true}), softplus(0.4),
              1e-12);
}

TEST(ClassVectorLosses, ProxyNcaPpByHand) {
  EXPECT_NEAR(by_hand<ProxyNcaPp>({.temperature = 0.5}),
              softplus((0.8 - 0.4) / 0.5), 1e-12);
}

TEST(ClassVectorLosses, ProxyAnchorByHand) {
  // Class 1 has no positive and is left out of the first mean; class 0 has no
  // negative, but counts in the second.
  EXPECT_NEAR(by_hand<ProxyAnchor>({.alpha = 2, .margin = 0.1}),
              softplus(-2 * (0.6 - 0.1)) + softplus(2 * (0.8 + 0.1)) / 2,
              1e-12);
}

TEST(ClassVectorLosses, SoftTripleByHand) {
  const Tensor centers = rows({2, 0, 0, 1, -1, 0, 0, -3}, 2).view({2, 2, 2});
  const SoftTriple loss({.lambda = 2, .gamma = 0.5, .delta = 0.1, .tau = 0.3},
                        with_proxies(centers));
  const auto soft = [](double a, double b) {  // of similarities to a class
    const double share = 1 / (1 + std::exp((b - a) / 0.5));
    return share * a + (1 - share) * b;
  };
  const double spread = 0.3 * (2 * std::sqrt(2)) / (2 * 2 * 1);
  EXPECT_NEAR(loss(input_of(rows({0.6, 0.8}, 2), {0})).value.item<double>(),
              softplus(2 * (soft(-0.6, -0.8) - soft(0.6, 0.8) + 0.1)) + spread,
              1e-12);
}

/// ProxyNCA++ has no stored values of published code.
TEST(ClassVectorLosses, ProxyNcaPpIsProxyNcaOfAllProxiesAndAnotherScale) {
  const Tensor x = normalize_rows(random_normal({9, 5}, 1));
  const LossInput input = input_of(x, {0, 1, 2, 3, 0, 1, 2, 3, 3});
  const Tensor first = random_normal({4, 5}, 2);
  const Tensor second = first.clone();
  const LossGradient a =
      differentiate(ProxyNcaPp({}, with_proxies(first)), input);
  const LossGradient b = differentiate(
      ProxyNca({.scale = 3, .include_positive = true}, with_proxies(second)),
      input);
  EXPECT_NEAR(a.value, b.value, 1e-12);
  EXPECT_LE(max_difference(a.gradient, b.gradient), 1e-12);
  EXPECT_LE(max_difference(first.grad(), second.grad()), 1e-12);
}

void expect_finite(const std::string& yaml, const Tensor& proxies,
                   const LossInput& input) {
  SCOPED_TRACE(yaml);
  for (const auto type : {at::kDouble, at::kFloat}) {
    const Tensor values = proxies.to(type).clone();
    LossInput typed = input;
    typed.embeddings = input.embeddings.to(type);
    const LossGradient result =
        differentiate(*make_loss(yaml, with_proxies(values)), typed);
    EXPECT_TRUE(std::isfinite(result.value)) << result.value;
    EXPECT_TRUE(torch::isfinite(result.gradient).all().item<bool>());
    if (!values.grad().defined()) continue;
    EXPECT_TRUE(torch::isfinite(values.grad()).all().item<bool>());
  }
}

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {"norm_softmax", "arcface",
                                               "cosface",      "proxy_nca",
                                               "proxy_nca_pp", "proxy_anchor"};
  return all;
}

TEST(ClassVectorLosses, EmbeddingsOnAndOppositeToProxiesAreFinite) {
  const Tensor axes = torch::eye(3, torch::kDouble);
  const LossInput input =
      input_of(torch::cat({axes, -axes}), {0, 1, 2, 0, 1, 2});
  for (const std::string& name : names()) {
    expect_finite("{name: " + name + "}", axes, input);
  }
  expect_finite("{name: arcface, clamp: true}", axes, input);
}

TEST(ClassVectorLosses, OneClassAndProxiesOfZerosAreFinite) {
  const Tensor x = normalize_rows(random_normal({4, 3}, 1));
  for (const std::string& name : names()) {
    const std::string yaml = "{name: " + name + "}";
    expect_finite(yaml, random_normal({1, 3}, 2), input_of(x, {0, 0, 0, 0}));
    expect_finite(yaml, torch::zeros({2, 3}), input_of(x, {0, 1, 1, 0}));
  }
}

TEST(ClassVectorLosses, EqualCentersAreFinite) {
  const Tensor x = normalize_rows(random_normal({4, 3}, 1));
  const Tensor equal =
      random_normal({2, 1, 3}, 2).expand({2, 4, 3}).contiguous();
  expect_finite("{name: soft_triple, centers: 4}", equal,
                input_of(x, {0, 1, 1, 0}));
  expect_finite("{name: soft_triple, centers: 1}", random_normal({2, 3}, 2),
                input_of(x, {0, 1, 1, 0}));
}

TEST(ClassVectorLosses, ProxyAnchorDoesNotOverflow) {
  const Tensor axes = torch::eye(2, torch::kDouble);
  // Each example on the other class's proxy: e^1100 overflows.
  const LossInput input = input_of(axes, {1, 0});
  expect_finite("{name: proxy_anchor, alpha: 1000}", axes, input);
  const ProxyAnchor loss({.alpha = 1000}, with_proxies(axes));
  EXPECT_NEAR(loss(input).value.item<double>(), 100 + 1100, 1e-9);
}

TEST(ClassVectorLosses, LearningRatesAreOptions) {
  LossContext context;
  context.classes = 3;
  context.dim = 2;
  EXPECT_EQ(NormSoftmax({}, context).parameter_lr("proxies"), 1e-5);
  EXPECT_EQ(ArcFace({}, context).parameter_lr("proxies"), 5e-4);
  EXPECT_EQ(CosFace({}, context).parameter_lr("proxies"), 5e-4);
  EXPECT_EQ(ProxyNca({}, context).parameter_lr("proxies"), 5e-4);
  EXPECT_EQ(ProxyAnchor({}, context).parameter_lr("proxies"), 1e-2);
  EXPECT_EQ(SoftTriple({}, context).parameter_lr("proxies"), 1e-5);
  EXPECT_EQ(
      SoftTriple({.training = {.lr = 0.5}}, context).parameter_lr("proxies"),
      0.5);
}

}  // namespace
}  // namespace kith
