// Optimisers with parameters that have no gradient at first, or now and then: a
// backbone that is frozen in the first epochs, a part of a loss that is seldom
// used.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/train/optimizer.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::unique_ptr<Optimizer> optimizer_of(const std::string& yaml,
                                        const NamedTensors& parameters) {
  return optimizer_registry().make(parse_config(yaml, "test"), "optimizer",
                                   parameters);
}

/// Parameters that begin at once, at step 7, at every third step, and never.
NamedTensors make_late_parameters() {
  NamedTensors parameters;
  for (const char* name : {"early", "late", "rare", "never"}) {
    parameters.emplace_back(
        name, random_normal({3, 4}, parameters.size(), at::kFloat));
    parameters.back().second.requires_grad_();
  }
  return parameters;
}

/// Gradients of one step; the others are undefined.
void compute_late_gradients(const NamedTensors& p, int step) {
  const bool used[] = {true, step >= 6, step % 3 == 2, false};
  for (size_t i = 0; i < p.size(); ++i) {
    Tensor parameter = p[i].second;
    parameter.mutable_grad().reset();
    if (used[i]) (parameter.pow(4).sum() + parameter.sum()).backward();
  }
}

/// Twenty steps of kith's optimiser and of LibTorch's with a changing learning
/// rate.
template <class Reference, class Options>
void expect_same_late_path(const std::string& yaml, Options options) {
  const NamedTensors ours = make_late_parameters();
  const NamedTensors theirs = make_late_parameters();
  const auto optimizer = optimizer_of(yaml, ours);
  std::vector<Tensor> list;
  for (const auto& [name, parameter] : theirs) list.push_back(parameter);
  Reference reference(list, options);
  for (int step = 0; step < 20; ++step) {
    const double lr = optimizer->base_lr() * (1 - 0.03 * step);
    compute_late_gradients(ours, step);
    optimizer->step(lr);
    compute_late_gradients(theirs, step);
    static_cast<Options&>(reference.param_groups()[0].options()).lr(lr);
    reference.step();
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_LE(max_difference(ours[i].second, theirs[i].second), 1e-6)
          << yaml << " step " << step << " " << ours[i].first;
    }
  }
  const NamedTensors start = make_late_parameters();
  EXPECT_GT(max_difference(ours[1].second, start[1].second), 1e-3);
  EXPECT_TRUE(same_bits(ours[3].second, start[3].second));
}

TEST(LateParameters, OfAdamCountTheirOwnSteps) {
  using torch::optim::AdamOptions;
  using torch::optim::AdamWOptions;
  expect_same_late_path<torch::optim::Adam>(
      "{name: adam, lr: 0.02, weight_decay: 0.1}",
      AdamOptions(0.02).weight_decay(0.1));
  expect_same_late_path<torch::optim::AdamW>(
      "{name: adamw, lr: 0.02, weight_decay: 0.1}",
      AdamWOptions(0.02).weight_decay(0.1));
}

// Whatever the gradient, the first step of Adam is the learning rate. With the
// count of all steps it would be 2.3 times that after 800 of them.
TEST(LateParameters, OfAdamBeginWithAFullStep) {
  const NamedTensors p = {{"early", torch::ones({1}).requires_grad_()},
                          {"late", torch::ones({1}).requires_grad_()}};
  const auto optimizer = optimizer_of("{name: adam}", p);
  for (int step = 0; step < 800; ++step) {
    p[0].second.mutable_grad() = torch::ones({1});
    optimizer->step(1e-6);
  }
  p[1].second.mutable_grad() = torch::full({1}, 7.0);
  optimizer->step(1e-3);
  EXPECT_NEAR(p[1].second.item<double>(), 1 - 1e-3, 1e-7);
}

TEST(LateParameters, OfSgdStartTheirMomentum) {
  using torch::optim::SGDOptions;
  expect_same_late_path<torch::optim::SGD>(
      "{name: sgd, lr: 0.002, weight_decay: 0.1, nesterov: true}",
      SGDOptions(0.002).momentum(0.9).weight_decay(0.1).nesterov(true));
}

}  // namespace
}  // namespace kith
