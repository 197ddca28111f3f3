#include "kith/ops/bias_activation.h"

#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr TokenActivation kActivations[] = {
    TokenActivation::kGelu, TokenActivation::kGeluTanh,
    TokenActivation::kQuickGelu, TokenActivation::kRelu6,
    TokenActivation::kSwiglu};

struct ActivationInput {
  Tensor u;
  Tensor bias;

  std::vector<Tensor> all() const { return {u, bias}; }
};

/// Numbers up to 15 or so, of both signs.
ActivationInput activation_input(const std::vector<int64_t>& sizes,
                                 at::ScalarType sums, at::ScalarType products,
                                 c10::Device device = at::kCPU) {
  const Tensor u = (4 * random_normal(sizes, 1, at::kFloat)).to(products);
  return {u.to(device).requires_grad_(),
          random_normal({sizes.back()}, 2, sums).to(device).requires_grad_()};
}

Tensor two_layers_of(const ActivationInput& in, TokenActivation activation) {
  return activated(in.u.to(in.bias.scalar_type()) + in.bias, activation)
      .to(in.u.scalar_type());
}

std::vector<Tensor> results_of(const ActivationInput& in, const Tensor& h) {
  const Tensor weights = random_normal(h.sizes().vec(), 3, at::kFloat)
                             .to(h.device(), h.scalar_type());
  std::vector<Tensor> all = torch::autograd::grad({h}, in.all(), {weights});
  all.push_back(h.detach());
  return all;
}

void expect_near(const std::vector<Tensor>& got,
                 const std::vector<Tensor>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), expected[i].scalar_type()) << i;
    const double size =
        expected[i].numel() == 0 ? 0 : expected[i].abs().max().item<double>();
    EXPECT_LE(max_difference(got[i], expected[i]), tolerance * (1 + size)) << i;
  }
}

TEST(BiasActivation, IsTheActivationOfTheSum) {
  for (const TokenActivation activation : kActivations) {
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{3, 5, 16}, {7, 6}, {2, 3000, 8}}) {
      SCOPED_TRACE(static_cast<int>(activation));
      const ActivationInput in =
          activation_input(sizes, at::kDouble, at::kDouble);
      const Tensor h = bias_activation(in.u, in.bias, activation);
      expect_near(results_of(in, h),
                  results_of(in, two_layers_of(in, activation)), 1e-12);
      const torch::NoGradGuard no_grad;
      EXPECT_TRUE(
          same_bits(bias_activation(in.u, in.bias, activation), h.detach()));
    }
  }
}

TEST(BiasActivation, TakesProductsInBfloat16) {
  for (const TokenActivation activation : kActivations) {
    const ActivationInput in =
        activation_input({3, 5, 16}, at::kFloat, at::kBFloat16);
    expect_near(results_of(in, bias_activation(in.u, in.bias, activation)),
                results_of(in, two_layers_of(in, activation)), 1e-2);
  }
}

TEST(BiasActivation, RefusesASecondDerivative) {
  const ActivationInput in = activation_input({3, 8}, at::kDouble, at::kDouble);
  const Tensor h = bias_activation(in.u, in.bias, TokenActivation::kGelu);
  EXPECT_THROW(torch::autograd::grad({h.sum()}, {in.u}, {}, true, true),
               c10::Error);
}

TEST(BiasActivation, TakesNoRowsAndRefusesOtherShapes) {
  const ActivationInput none =
      activation_input({0, 8}, at::kDouble, at::kDouble);
  const Tensor h = bias_activation(none.u, none.bias, TokenActivation::kSwiglu);
  EXPECT_EQ(h.sizes(), (std::vector<int64_t>{0, 4}));
  h.sum().backward();
  EXPECT_EQ(none.bias.grad().abs().sum().item<double>(), 0);
  const Tensor bias = torch::zeros({8});
  const auto run = [&](const Tensor& u) {
    bias_activation(u, bias, TokenActivation::kGelu);
  };
  EXPECT_THROW(run(torch::ones({2, 4})), c10::ValueError);
  EXPECT_THROW(run(torch::ones({2, 8}, at::kHalf)), c10::ValueError);
}

TEST(BiasActivation, CudaGivesWhatTheCpuGives) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (const TokenActivation activation : kActivations) {
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{3, 5, 16},
                                              {7, 197, 3072},
                                              {2, 1, 6144},
                                              {1, 65536},
                                              {0, 16}}) {
      SCOPED_TRACE(testing::Message() << sizes);
      const ActivationInput in =
          activation_input(sizes, at::kFloat, at::kBFloat16);
      const ActivationInput there =
          activation_input(sizes, at::kFloat, at::kBFloat16, at::kCUDA);
      const auto run = [&] {
        std::vector<Tensor> here;
        for (const Tensor& t : results_of(
                 there, bias_activation(there.u, there.bias, activation))) {
          here.push_back(t.cpu());
        }
        return here;
      };
      const std::vector<Tensor> got = run(), again = run();
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(same_bits(got[i], again[i])) << i;
      }
      expect_near(got,
                  results_of(in, bias_activation(in.u, in.bias, activation)),
                  1e-2);
    }
  }
}

}  // namespace
}  // namespace kith
