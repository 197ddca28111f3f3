#pragma once

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {

/// Expects the same value and gradient. Tolerances are relative to a value
/// above 1 and to the largest gradient.
inline void expect_same(const LossGradient& actual,
                        const LossGradient& expected, double value,
                        double gradient) {
  EXPECT_NEAR(actual.value, expected.value,
              value * std::max(1.0, std::abs(expected.value)));
  ASSERT_EQ(actual.gradient.sizes(), expected.gradient.sizes());
  if (expected.gradient.numel() == 0) return;
  const double most = expected.gradient.abs().max().item<double>();
  EXPECT_LE(max_difference(actual.gradient, expected.gradient),
            gradient * std::max(most, 1e-3));
}

/// Value and gradient of `f`, a function of a tensor like x.
template <class Function>
LossGradient differentiate_function(const Function& f, const Tensor& x) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  const Tensor value = f(leaf);
  value.backward();
  return {value.template item<double>(), leaf.grad(), true};
}

}  // namespace kith
