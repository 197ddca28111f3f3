// The losses of the row engine as functions of autograd: they compute their
// gradient with the value, and there is no second one.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/reference_losses.h"

namespace kith {
namespace {

std::vector<std::string> autograd_losses() {
  std::vector<std::string> names;
  for (const std::string& name : loss_registry().names()) {
    if (has_reference(name)) names.push_back(name);
  }
  return names;
}

class RowLossAutograd : public ::testing::TestWithParam<std::string> {
 protected:
  RowLossAutograd()
      : loss_(make_loss("{name: " + GetParam() + "}")),
        batch_(make_batch({4, 1, 3, 2, 5}, 6, 1)),
        expected_(differentiate(*loss_, batch_.input())),
        x_(batch_.x.clone().requires_grad_()) {}

  Tensor value(const Tensor& x) const {
    LossInput input = batch_.input();
    input.embeddings = x;
    return (*loss_)(input).value;
  }

  void expect_gradient(const Tensor& gradient, double scale = 1) const {
    EXPECT_LE(max_difference(gradient, expected_.gradient * scale),
              1e-14 * scale * expected_.gradient.abs().max().item<double>());
  }

  std::unique_ptr<Loss> loss_;
  LabelledBatch batch_;
  LossGradient expected_;
  Tensor x_;
};

TEST_P(RowLossAutograd, WithoutGradientTheValueIsTheSame) {
  const Tensor plain = value(batch_.x);
  EXPECT_FALSE(plain.requires_grad());
  EXPECT_EQ(plain.item<double>(), expected_.value);
  const torch::NoGradGuard no_grad;
  const Tensor guarded = value(x_);
  EXPECT_FALSE(guarded.requires_grad());
  EXPECT_EQ(guarded.item<double>(), expected_.value);
}

TEST_P(RowLossAutograd, OuterGradientsScale) {
  (value(x_) * 3).backward();
  expect_gradient(x_.grad(), 3);
}

TEST_P(RowLossAutograd, RunsBackwardTwiceIfAsked) {
  const Tensor once = value(x_);
  once.backward({}, /*retain_graph=*/true);
  once.backward();
  expect_gradient(x_.grad(), 2);
}

TEST_P(RowLossAutograd, PassesThroughEarlierFunctions) {
  const Tensor raw = (batch_.x * 2).requires_grad_();
  value(raw / 2).backward();
  expect_gradient(raw.grad(), 0.5);
}

TEST_P(RowLossAutograd, FirstGradientCanBeAskedForWithItsGraph) {
  const Tensor gradient =
      torch::autograd::grad({value(x_)}, {x_}, {}, /*retain_graph=*/true,
                            /*create_graph=*/true)[0];
  expect_gradient(gradient);
}

TEST_P(RowLossAutograd, RefusesASecondDerivative) {
  const Tensor gradient =
      torch::autograd::grad({value(x_)}, {x_}, {}, /*retain_graph=*/true,
                            /*create_graph=*/true)[0];
  const Tensor penalty = gradient.square().sum();
  expect_error<c10::Error>([&] { torch::autograd::grad({penalty}, {x_}); },
                           "first derivative only");
}

INSTANTIATE_TEST_SUITE_P(Losses, RowLossAutograd,
                         ::testing::ValuesIn(autograd_losses()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

}  // namespace
}  // namespace kith
