#include "kith/ops/known_gradient.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/expect_error.h"

namespace kith {
namespace {

/// sum(x^2) + sum(3 y), with the gradients as an engine would give them.
Tensor function(const Tensor& x, const Tensor& y) {
  const at::NoGradGuard no_grad;
  return x.square().sum() + 3 * y.sum();
}
Tensor differentiable(const Tensor& x, const Tensor& y) {
  return known_gradient(function(x, y), {x, y},
                        {2 * x.detach(), torch::full_like(y.detach(), 3)});
}

Tensor leaf(const std::vector<double>& values) {
  return torch::tensor(values, torch::kDouble).requires_grad_(true);
}

TEST(KnownGradient, IsScaledByWhatComesAfter) {
  const Tensor x = leaf({1, -2});
  const Tensor y = leaf({5});
  const Tensor value = differentiable(x, y);
  EXPECT_EQ(value.item<double>(), 20);
  (value * value).backward();
  EXPECT_TRUE(torch::equal(x.grad(), 2 * 20 * 2 * x.detach()));
  EXPECT_TRUE(torch::equal(y.grad(), torch::full_like(y.detach(), 2 * 20 * 3)));
}

TEST(KnownGradient, LeavesOutInputsWithoutGradient) {
  const Tensor x = leaf({1, -2});
  const Tensor y = leaf({5});
  differentiable(x.detach(), y).backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(y.grad().item<double>(), 3);
  EXPECT_FALSE(differentiable(x.detach(), y.detach()).requires_grad());
  EXPECT_TRUE(
      known_gradient(function(x, y), {x, Tensor()}, {2 * x.detach(), Tensor()})
          .requires_grad());
}

TEST(KnownGradient, RefusesASecondDerivative) {
  const Tensor x = leaf({1, -2});
  const Tensor gradient =
      torch::autograd::grad({differentiable(x, leaf({5}))}, {x}, {},
                            /*retain_graph=*/true, /*create_graph=*/true)[0];
  ASSERT_TRUE(gradient.requires_grad());
  // Also where another term has a second derivative.
  const Tensor penalty = gradient.square().sum() + x.square().sum();
  expect_error<c10::Error>([&] { penalty.backward(); },
                           "first derivative only");
}

}  // namespace
}  // namespace kith
