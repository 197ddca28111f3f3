#include "kith/ops/token_products.h"

#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/ops/rounded_weights.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

struct HeadsInput {
  Tensor x;
  Tensor weight;
  Tensor bias;
  int64_t heads;

  std::vector<Tensor> all() const {
    std::vector<Tensor> tensors = {x, weight};
    if (bias.defined()) tensors.push_back(bias);
    return tensors;
  }
};

/// Tokens of twice 5 or 197 places, width 24, heads of `size` features.
HeadsInput heads_input(int64_t tokens, int64_t size, bool bias,
                       at::ScalarType params, at::ScalarType products,
                       c10::Device device = at::kCPU) {
  constexpr int64_t kHeads = 3;
  const int64_t out = 3 * kHeads * size;
  const auto leaf = [&](const Tensor& t) {
    return t.to(device).requires_grad_();
  };
  return {leaf(random_normal({2, tokens, 24}, 1, at::kFloat).to(products)),
          leaf(random_normal({out, 24}, 2, params) / 5),
          bias ? leaf(random_normal({out}, 3, params)) : Tensor(), kHeads};
}

std::array<Tensor, 3> plain_heads(const HeadsInput& in) {
  const auto type = in.x.scalar_type();
  const Tensor y = torch::linear(in.x, in.weight.to(type),
                                 in.bias.defined() ? in.bias.to(type) : in.bias)
                       .view({in.x.size(0), in.x.size(1), 3, in.heads, -1})
                       .permute({2, 0, 3, 1, 4});
  return {y[0], y[1], y[2]};
}

/// The heads, what attention makes of them, and gradients.
std::vector<Tensor> results_of(const HeadsInput& in,
                               const std::array<Tensor, 3>& qkv) {
  const Tensor out = attention(qkv[0], qkv[1], qkv[2]);
  const Tensor weights = random_normal(out.sizes().vec(), 4, at::kFloat)
                             .to(out.device(), out.scalar_type());
  std::vector<Tensor> all =
      torch::autograd::grad({out}, in.all(), {weights}, true);
  for (const Tensor& one : qkv) all.push_back(one.detach());
  return all;
}

void expect_alike(const std::vector<Tensor>& got,
                  const std::vector<Tensor>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), expected[i].scalar_type()) << i;
    const double size = expected[i].abs().max().item<double>();
    EXPECT_LE(max_difference(got[i], expected[i]), tolerance * (1 + size)) << i;
  }
}

TEST(TokenHeads, AreThoseOfOneLinearLayer) {
  for (const bool bias : {false, true}) {
    for (const int64_t size : {8, 5}) {
      const HeadsInput in =
          heads_input(5, size, bias, at::kDouble, at::kDouble);
      const auto qkv = token_heads(in.x, in.weight, in.bias, in.heads);
      EXPECT_EQ(qkv[0].sizes(), (std::vector<int64_t>{2, 3, 5, size}));
      expect_alike(results_of(in, qkv), results_of(in, plain_heads(in)), 1e-12);
    }
  }
}

TEST(TokenHeads, OneOfThemAloneHasAGradient) {
  const HeadsInput in = heads_input(5, 8, true, at::kDouble, at::kDouble);
  const auto of = [&](const std::array<Tensor, 3>& qkv) {
    return torch::autograd::grad({qkv[1].square().sum()}, in.all());
  };
  expect_alike(of(token_heads(in.x, in.weight, in.bias, in.heads)),
               of(plain_heads(in)), 1e-12);
}

TEST(TokenHeads, ComputeInBfloat16) {
  const HeadsInput in = heads_input(5, 8, true, at::kFloat, at::kBFloat16);
  const auto qkv = token_heads(in.x, in.weight, in.bias, in.heads);
  EXPECT_EQ(qkv[2].scalar_type(), at::kBFloat16);
  expect_alike(results_of(in, qkv), results_of(in, plain_heads(in)), 2e-2);
}

TEST(TokenHeads, RefuseASecondDerivative) {
  const HeadsInput in = heads_input(5, 8, true, at::kDouble, at::kDouble);
  const Tensor q = token_heads(in.x, in.weight, in.bias, in.heads)[0];
  EXPECT_THROW(torch::autograd::grad({q.sum()}, {in.x}, {}, true, true),
               c10::Error);
}

TEST(TokenHeads, CudaGivesWhatTheCpuGives) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (const bool bias : {false, true}) {
    for (const int64_t size : {64, 8, 5}) {
      const HeadsInput in =
          heads_input(197, size, bias, at::kFloat, at::kBFloat16);
      const HeadsInput there =
          heads_input(197, size, bias, at::kFloat, at::kBFloat16, at::kCUDA);
      std::vector<Tensor> got;
      for (const Tensor& t : results_of(
               there,
               token_heads(there.x, there.weight, there.bias, there.heads))) {
        got.push_back(t.cpu());
      }
      expect_alike(
          got, results_of(in, token_heads(in.x, in.weight, in.bias, in.heads)),
          3e-2);
    }
  }
}

TEST(TokenProduct, IsALinearLayerWithoutBias) {
  for (const at::ScalarType products : {at::kDouble, at::kBFloat16}) {
    const auto params = products == at::kDouble ? at::kDouble : at::kFloat;
    const HeadsInput in = heads_input(5, 8, false, params, products);
    const auto results = [&](const Tensor& y) {
      return torch::autograd::grad({y.square().sum()}, in.all(), {}, true);
    };
    const Tensor got = token_product(in.x, in.weight);
    const Tensor expected = torch::linear(in.x, in.weight.to(products));
    const double tolerance = products == at::kDouble ? 1e-12 : 2e-2;
    EXPECT_LE(max_difference(got, expected), tolerance);
    expect_alike(results(got), results(expected), tolerance);
    EXPECT_THROW(torch::autograd::grad({got.sum()}, {in.x}, {}, true, true),
                 c10::Error);
  }
}

TEST(TokenProduct, OfFrozenWeightsHasAGradientOfTokens) {
  const HeadsInput in = heads_input(5, 8, false, at::kDouble, at::kDouble);
  const Tensor y = token_product(in.x, in.weight.detach());
  y.sum().backward();
  const Tensor expected = in.weight.detach().sum(0).expand_as(in.x);
  EXPECT_LE(max_difference(in.x.grad(), expected), 1e-12);
}

TEST(RoundedWeights, AreCastOnceUntilCleared) {
  Tensor weight = random_normal({4, 3}, 1, at::kFloat).requires_grad_();
  EXPECT_FALSE(
      rounded(weight, at::kBFloat16).is_same(rounded(weight, at::kBFloat16)));
  RoundedWeights weights;
  const RoundedWeights::Use use(weights);
  EXPECT_EQ(weights.bytes(), 0);
  const Tensor once = rounded(weight, at::kBFloat16);
  EXPECT_TRUE(rounded(weight, at::kBFloat16).is_same(once));
  EXPECT_TRUE(torch::equal(once, weight.detach().to(at::kBFloat16)));
  {
    RoundedWeights others;
    const RoundedWeights::Use inner(others);
    EXPECT_FALSE(rounded(weight, at::kBFloat16).is_same(once));
  }
  EXPECT_EQ(weights.bytes(), 24);
  const torch::NoGradGuard no_grad;
  weight.mul_(2);
  EXPECT_TRUE(
      torch::equal(rounded(weight, at::kBFloat16), weight.to(at::kBFloat16)));
  const Tensor before = rounded(weight, at::kBFloat16);
  weights.clear();
  EXPECT_EQ(weights.bytes(), 0);
  EXPECT_FALSE(rounded(weight, at::kBFloat16).is_same(before));
}

TEST(RoundedWeights, ComputedOnesAreCastEveryTime) {
  const Tensor weight = random_normal({4, 3}, 1, at::kFloat).requires_grad_();
  RoundedWeights weights;
  const RoundedWeights::Use use(weights);
  const Tensor computed = weight * 2;
  EXPECT_FALSE(rounded(computed, at::kBFloat16)
                   .is_same(rounded(computed, at::kBFloat16)));
  const Tensor plain = weight.detach();
  EXPECT_FALSE(
      rounded(plain, at::kBFloat16).is_same(rounded(plain, at::kBFloat16)));
}

}  // namespace
}  // namespace kith
