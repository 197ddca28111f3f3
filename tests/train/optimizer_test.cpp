#include "kith/train/optimizer.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::unique_ptr<Optimizer> make_optimizer(const std::string& yaml,
                                          const NamedTensors& parameters) {
  return optimizer_registry().make(parse_config(yaml, "test"), "optimizer",
                                   parameters);
}

/// Two parameters to be optimised; the same every time.
NamedTensors make_parameters() {
  return {{"matrix", random_normal({4, 3}, 1, at::kFloat).requires_grad_()},
          {"vector", random_normal({5}, 2, at::kFloat).requires_grad_()}};
}

/// Something with gradients of very different sizes.
Tensor objective(const NamedTensors& p) {
  return p[0].second.pow(4).sum() + 1e-3 * (p[1].second - 1).square().sum() +
         p[0].second[0][0] * p[1].second.sin().sum();
}

/// Twenty steps of kith's optimiser and of LibTorch's from the same start with
/// the same changing learning rates.
template <class Reference, class Options>
void expect_same_path(const std::string& yaml, Options options) {
  const NamedTensors ours = make_parameters();
  const NamedTensors theirs = make_parameters();
  const auto optimizer = make_optimizer(yaml, ours);
  Reference reference({theirs[0].second, theirs[1].second}, options);
  for (int step = 0; step < 20; ++step) {
    const double lr = optimizer->base_lr() * (1 - 0.03 * step);
    optimizer->zero_grad();
    objective(ours).backward();
    optimizer->step(lr);
    reference.zero_grad();
    objective(theirs).backward();
    static_cast<Options&>(reference.param_groups()[0].options()).lr(lr);
    reference.step();
    for (size_t i = 0; i < ours.size(); ++i) {
      const double size = theirs[i].second.abs().max().item<double>();
      ASSERT_LE(max_difference(ours[i].second, theirs[i].second), 1e-6 * size)
          << yaml << " step " << step << " " << ours[i].first;
    }
  }
  const NamedTensors start = make_parameters();
  EXPECT_GT(max_difference(ours[0].second, start[0].second), 1e-3);
}

TEST(Adam, TakesTheStepsOfLibTorch) {
  using torch::optim::AdamOptions;
  expect_same_path<torch::optim::Adam>("{name: adam, lr: 0.02}",
                                       AdamOptions(0.02));
  expect_same_path<torch::optim::Adam>(
      "{name: adam, lr: 0.01, weight_decay: 0.1, beta1: 0.8, beta2: 0.95, "
      "eps: 1.0e-4}",
      AdamOptions(0.01).weight_decay(0.1).betas({0.8, 0.95}).eps(1e-4));
}

TEST(AdamW, TakesTheStepsOfLibTorch) {
  using torch::optim::AdamWOptions;
  expect_same_path<torch::optim::AdamW>("{name: adamw, lr: 0.02}",
                                        AdamWOptions(0.02).weight_decay(0.01));
  expect_same_path<torch::optim::AdamW>(
      "{name: adamw, lr: 0.05, weight_decay: 0.5}",
      AdamWOptions(0.05).weight_decay(0.5));
}

TEST(Sgd, TakesTheStepsOfLibTorch) {
  using torch::optim::SGDOptions;
  expect_same_path<torch::optim::SGD>("{name: sgd, lr: 0.01}",
                                      SGDOptions(0.01).momentum(0.9));
  expect_same_path<torch::optim::SGD>("{name: sgd, lr: 0.01, momentum: 0}",
                                      SGDOptions(0.01));
  expect_same_path<torch::optim::SGD>(
      "{name: sgd, lr: 0.01, weight_decay: 0.1, nesterov: true}",
      SGDOptions(0.01).momentum(0.9).weight_decay(0.1).nesterov(true));
}

class EveryOptimizer : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Optimizer> make(const NamedTensors& parameters) const {
    return make_optimizer("{name: " + GetParam() + "}", parameters);
  }

  static void step(Optimizer& optimizer) {
    optimizer.zero_grad();
    objective(optimizer.parameters()).backward();
    optimizer.step(optimizer.base_lr() / 10);
  }
};

// What a checkpoint does: the state copied into a new optimiser.
TEST_P(EveryOptimizer, ContinuesFromItsState) {
  const NamedTensors whole = make_parameters();
  const auto uninterrupted = make(whole);
  for (int i = 0; i < 4; ++i) step(*uninterrupted);
  const NamedTensors copy = {
      {"matrix", whole[0].second.detach().clone().requires_grad_()},
      {"vector", whole[1].second.detach().clone().requires_grad_()}};
  const auto resumed = make(copy);
  const NamedTensors from = uninterrupted->state();
  const NamedTensors to = resumed->state();
  ASSERT_EQ(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].first, to[i].first);
    Tensor target = to[i].second;
    target.copy_(from[i].second);
  }
  for (int i = 0; i < 4; ++i) {
    step(*uninterrupted);
    step(*resumed);
  }
  EXPECT_TRUE(same_bits(whole[0].second, copy[0].second));
  EXPECT_TRUE(same_bits(whole[1].second, copy[1].second));
}

TEST_P(EveryOptimizer, LeavesParametersWithoutGradientAlone) {
  const NamedTensors parameters = make_parameters();
  const Tensor before = parameters[1].second.detach().clone();
  const auto optimizer = make(parameters);
  parameters[0].second.square().sum().backward();
  optimizer->step(0.1);
  EXPECT_TRUE(torch::equal(parameters[1].second, before));
  EXPECT_FALSE(torch::equal(parameters[0].second, make_parameters()[0].second));
}

INSTANTIATE_TEST_SUITE_P(All, EveryOptimizer,
                         ::testing::ValuesIn(optimizer_registry().names()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

TEST(Optimizers, RefuseBadOptions) {
  const auto refused = [](const std::string& yaml, const auto&... parts) {
    expect_error<ConfigError>([&] { make_optimizer(yaml, {}); }, parts...);
  };
  refused("{name: adam, lr: -1}", "optimizer.lr", "at least 0");
  refused("{name: adam, betas: 1}", "optimizer.betas", "beta1");
  refused("{name: sgd, momentum: 2}", "optimizer.momentum", "in [0, 1]");
  refused("{name: adams}", "did you mean 'adam'?");
}

TEST(ClipGradients, ScalesTheJointNormDown) {
  const NamedTensors p = {{"a", torch::zeros({2}).requires_grad_()},
                          {"b", torch::zeros({1}).requires_grad_()},
                          {"unused", torch::zeros({1}).requires_grad_()}};
  const auto set = [&] {
    p[0].second.mutable_grad() = torch::tensor({2.f, 3.f});
    p[1].second.mutable_grad() = torch::tensor({6.f});
  };
  set();
  EXPECT_NEAR(clip_gradients(p, 3.5), 7, 1e-6);
  EXPECT_LE(max_difference(p[0].second.grad(), torch::tensor({1.f, 1.5f})),
            1e-6);
  EXPECT_NEAR(p[1].second.grad().item<float>(), 3, 1e-6);
  EXPECT_NEAR(clip_gradients(p, 3.5), 3.5, 1e-6);
  for (const double limit : {0., 7.1}) {
    set();
    EXPECT_NEAR(clip_gradients(p, limit), 7, 1e-6);
    EXPECT_EQ(p[1].second.grad().item<float>(), 6);
  }
}

TEST(ClipGradients, NothingToClip) {
  EXPECT_EQ(clip_gradients({}, 1), 0);
  EXPECT_EQ(clip_gradients(make_parameters(), 1), 0);
  const NamedTensors p = make_parameters();
  p[0].second.mutable_grad() = torch::full({4, 3}, std::nanf(""));
  EXPECT_TRUE(std::isnan(clip_gradients(p, 1)));
}

}  // namespace
}  // namespace kith
