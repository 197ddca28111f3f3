#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/train/optimizers.h"
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

TEST(Optimizers, AreMadeOfOptionsAsOfAConfiguration) {
  const NamedTensors typed = make_parameters(), read = make_parameters();
  AdamWOptimizer ours({.lr = 0.02, .groups = {.decay_norms = false}}, typed);
  const auto theirs =
      make_optimizer("{name: adamw, lr: 0.02, decay_norms: false}", read);
  for (int step = 0; step < 3; ++step) {
    objective(typed).backward();
    objective(read).backward();
    ours.step(ours.base_lr());
    theirs->step(theirs->base_lr());
  }
  for (size_t i = 0; i < typed.size(); ++i) {
    EXPECT_TRUE(same_bits(typed[i].second.detach(), read[i].second.detach()));
  }
  expect_error<ConfigError>([&] { AdamOptimizer({.beta1 = 1}, typed); },
                            "adam.beta1");
  expect_error<ConfigError>([&] { SgdOptimizer({.lr = -1}, typed); }, "sgd.lr");
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

/// A step of each with gradients that lie in memory as the parameters do and
/// otherwise, of more numbers than are computed at a time.
template <class Reference, class Options>
void expect_any_order(const std::string& yaml, Options options) {
  for (const bool alike : {true, false}) {
    const auto make = [] {
      return random_normal({40, 20, 7, 7}, 1, at::kFloat)
          .contiguous(at::MemoryFormat::ChannelsLast)
          .requires_grad_();
    };
    const auto gradient = [&](int step) {
      const Tensor g = random_normal({40, 20, 7, 7}, 2 + step, at::kFloat);
      return alike ? g.contiguous(at::MemoryFormat::ChannelsLast) : g;
    };
    Tensor ours = make(), theirs = make();
    const auto optimizer = make_optimizer(yaml, {{"weight", ours}});
    Reference reference({theirs}, options);
    const uint32_t version = ours._version();
    for (int step = 0; step < 3; ++step) {
      ours.mutable_grad() = gradient(step);
      theirs.mutable_grad() = gradient(step);
      optimizer->step(optimizer->base_lr());
      reference.step();
    }
    EXPECT_LE(max_difference(ours, theirs), 4e-7) << yaml << " " << alike;
    EXPECT_GT(max_difference(ours, make()), 1e-2);
    EXPECT_GT(ours._version(), version);
  }
}

TEST(Optimizers, TakeGradientsInAnyOrderOfMemory) {
  using torch::optim::AdamOptions;
  using torch::optim::SGDOptions;
  expect_any_order<torch::optim::Adam>(
      "{name: adam, lr: 0.01, weight_decay: 0.1}",
      AdamOptions(0.01).weight_decay(0.1));
  expect_any_order<torch::optim::SGD>(
      "{name: sgd, lr: 0.01, weight_decay: 0.1}",
      SGDOptions(0.01).momentum(0.9).weight_decay(0.1));
}

TEST(Optimizers, GiveTheSameBitsWithAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const std::string name : {"adam", "adamw", "sgd"}) {
    std::vector<Tensor> results;
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      Tensor weight = random_normal({100000}, 1, at::kFloat).requires_grad_();
      const auto optimizer =
          make_optimizer("{name: " + name + "}", {{"weight", weight}});
      for (int step = 0; step < 2; ++step) {
        weight.mutable_grad() = random_normal({100000}, 2 + step, at::kFloat);
        optimizer->step(optimizer->base_lr());
      }
      results.push_back(weight.detach());
    }
    EXPECT_TRUE(same_bits(results[0], results[1])) << name;
    EXPECT_TRUE(same_bits(results[0], results[2])) << name;
  }
  at::set_num_threads(before);
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
  for (int i = 0; i < 3; ++i) {  // the other one begins late
    uninterrupted->zero_grad();
    whole[0].second.pow(4).sum().backward();
    uninterrupted->step(uninterrupted->base_lr() / 10);
  }
  step(*uninterrupted);
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

/// Of every group that options can tell apart.
NamedTensors make_grouped_parameters() {
  NamedTensors parameters;
  for (const char* part : {"backbone", "head", "loss", "backboned"}) {
    const uint64_t seed = 2 * parameters.size();
    parameters.emplace_back(
        std::string(part) + ".weight",
        random_normal({4, 3}, seed, at::kFloat).requires_grad_());
    parameters.emplace_back(
        std::string(part) + ".bias",
        random_normal({4}, seed + 1, at::kFloat).requires_grad_());
  }
  return parameters;
}

// Each parameter goes where it would with an optimiser of its own that has the
// group's learning rate and decay.
TEST_P(EveryOptimizer, GivesGroupsTheirLearningRateAndDecay) {
  const NamedTensors grouped = make_grouped_parameters();
  const NamedTensors alone = make_grouped_parameters();
  const std::string start = "{name: " + GetParam() + ", lr: 0.01";
  const auto optimizer =
      make_optimizer(start +
                         ", weight_decay: 0.1, backbone_lr: 0.5, head_lr: 3, "
                         "loss_lr: 0, decay_norms: false}",
                     grouped);
  const std::vector<double> factors = {0.5, 0.5, 3, 3, 0, 0, 1, 1};
  std::vector<std::unique_ptr<Optimizer>> single;
  for (const auto& parameter : alone) {
    const bool decays = parameter.second.dim() == 2;
    single.push_back(
        make_optimizer(start + ", weight_decay: " + (decays ? "0.1}" : "0}"),
                       {{"alone", parameter.second}}));
  }
  for (int step = 0; step < 5; ++step) {
    optimizer->zero_grad();
    for (size_t i = 0; i < grouped.size(); ++i) {
      grouped[i].second.pow(4).sum().backward();
      single[i]->zero_grad();
      alone[i].second.pow(4).sum().backward();
      single[i]->step(0.01 * factors[i]);
    }
    optimizer->step(0.01);
  }
  const NamedTensors before = make_grouped_parameters();
  for (size_t i = 0; i < grouped.size(); ++i) {
    EXPECT_TRUE(same_bits(grouped[i].second, alone[i].second))
        << grouped[i].first;
    EXPECT_EQ(torch::equal(grouped[i].second, before[i].second),
              factors[i] == 0)
        << grouped[i].first;
  }
}

// A rate of a parameter's own replaces the configuration's; the schedule, which
// scales the rate of the step, and the factor of its part hold for it too.
TEST_P(EveryOptimizer, GivesAParameterItsOwnLearningRate) {
  const auto make_one = [] {
    return random_normal({3, 4}, 1, at::kFloat).requires_grad_();
  };
  const Tensor with_own = make_one();
  const Tensor alone = make_one();
  const auto optimizer =
      make_optimizer("{name: " + GetParam() + ", lr: 0.01, loss_lr: 2}",
                     {{"head.weight", make_one()}, {"loss.proxies", with_own}});
  optimizer->set_lr("loss.proxies", 0.08);
  const auto single =
      make_optimizer("{name: " + GetParam() + ", lr: 0.01}", {{"p", alone}});
  for (int step = 0; step < 3; ++step) {
    optimizer->zero_grad();
    single->zero_grad();
    with_own.pow(4).sum().backward();
    alone.pow(4).sum().backward();
    optimizer->step(0.005);  // half of its rate, as a schedule would
    single->step(0.5 * 2 * 0.08);
  }
  EXPECT_LE(max_difference(with_own, alone), 1e-6);
}

TEST_P(EveryOptimizer, DecaysNormsAndBiasesUnlessToldNotTo) {
  for (const bool decays : {true, false}) {
    const NamedTensors p = {{"head.bias", torch::ones({3}).requires_grad_()}};
    const auto optimizer =
        make_optimizer("{name: " + GetParam() + ", weight_decay: 0.5" +
                           (decays ? "}" : ", decay_norms: false}"),
                       p);
    p[0].second.mutable_grad() = torch::zeros({3});
    optimizer->step(0.1);
    EXPECT_EQ(torch::equal(p[0].second, torch::ones({3})), !decays);
  }
}

TEST_P(EveryOptimizer, GivesThePowerOfGemAnotherRateAndNoDecay) {
  const auto make_one = [](double value) {
    return torch::full({1}, value).requires_grad_();
  };
  const NamedTensors p = {{"head.gem_p", make_one(3)},
                          {"head.linear.bias", make_one(3)}};
  const NamedTensors alone = {{"power", make_one(3)}, {"bias", make_one(3)}};
  const std::string start = "{name: " + GetParam() + ", lr: 0.01";
  const auto optimizer =
      make_optimizer(start +
                         ", weight_decay: 0.1, head_lr: 0.5, gem_lr: 10, "
                         "decay_gem: false}",
                     p);
  const auto power = make_optimizer(start + ", weight_decay: 0}", {alone[0]});
  const auto bias = make_optimizer(start + ", weight_decay: 0.1}", {alone[1]});
  for (int step = 0; step < 4; ++step) {
    for (const NamedTensors& all : {p, alone}) {
      for (const auto& [name, parameter] : all) {
        Tensor(parameter).mutable_grad() = torch::full({1}, 0.3);
      }
    }
    optimizer->step(0.01);
    power->step(0.05);
    bias->step(0.005);
  }
  for (size_t i = 0; i < p.size(); ++i) {
    EXPECT_LE(max_difference(p[i].second, alone[i].second), 1e-7);
    EXPECT_GT(max_difference(p[i].second, torch::full({1}, 3)), 1e-4);
  }
}

TEST_P(EveryOptimizer, SparesAParameterFromDecay) {
  const NamedTensors p = {{"loss.beta", torch::ones({3}).requires_grad_()},
                          {"head.bias", torch::ones({3}).requires_grad_()}};
  const auto optimizer =
      make_optimizer("{name: " + GetParam() + ", weight_decay: 0.5}", p);
  optimizer->set_lr("loss.beta", 0.2);
  optimizer->spare_from_decay("loss.beta");
  for (int step = 0; step < 5; ++step) {
    for (const auto& [name, parameter] : p) {
      Tensor(parameter).mutable_grad() = torch::zeros({3});
    }
    optimizer->step(0.1);
  }
  EXPECT_TRUE(same_bits(p[0].second.detach(), torch::ones({3})));
  EXPECT_FALSE(torch::equal(p[1].second, torch::ones({3})));
}

TEST_P(EveryOptimizer, NamesItsStateAfterTheParameters) {
  const auto optimizer = make(make_grouped_parameters());
  const NamedTensors& state = optimizer->state();
  ASSERT_GE(state.size(), 16u);
  EXPECT_EQ(state.size() % 8, 0u);
  for (size_t i = 0; i < state.size(); ++i) {
    const auto& [name, parameter] = optimizer->parameters()[i % 8];
    const bool counts = state[i].first == "steps." + name;
    EXPECT_EQ(counts, i < 8) << state[i].first;
    EXPECT_TRUE(state[i].first.ends_with("." + name)) << state[i].first;
    EXPECT_EQ(state[i].second.sizes(),
              counts ? at::IntArrayRef({1}) : parameter.sizes());
  }
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
  refused("{name: adamw, head_lr: -1}", "optimizer.head_lr", "at least 0");
  refused("{name: sgd, decay_norm: true}", "did you mean 'decay_norms'?");
  refused("{name: sgd, decay_norms_and_biases: true}", "decay_norms");
}

TEST(Optimizers, RefuseWhatAreNoParameters) {
  const Tensor x = torch::ones({2}).requires_grad_(true);
  expect_error<c10::ValueError>(
      [&] {
        AdamOptimizer({}, {{"w", Tensor()}});
      },
      "'w'", "no parameter");
  expect_error<c10::ValueError>(
      [&] {
        AdamOptimizer({}, {{"w", 2 * x}});
      },
      "'w'", "leaf");
  expect_error<c10::ValueError>(
      [&] {
        AdamOptimizer({}, {{"w", x}, {"w", x}});
      },
      "two parameters are called 'w'");
}

TEST(Optimizers, KnowTheirParametersByName) {
  AdamOptimizer optimizer(
      {}, {{"head.weight", torch::ones({2})}, {"loss.beta", torch::ones({1})}});
  expect_error<ConfigError>([&] { optimizer.set_lr("loss.betta", 0.1); },
                            "unknown parameter 'loss.betta'",
                            "Known: head.weight, loss.beta");
  expect_error<ConfigError>([&] { optimizer.spare_from_decay("head"); },
                            "unknown parameter 'head'", "head.weight");
}

/// More tensors than a launch takes, of more numbers than a block, and one that
/// lies with channels last; gradients as LibTorch makes them.
NamedTensors many_parameters(c10::Device device) {
  NamedTensors all;
  const auto add = [&](Tensor values) {
    const size_t n = all.size();
    const Tensor leaf = values.to(device).requires_grad_();
    leaf.mutable_grad() =
        random_normal(leaf.sizes().vec(), 500 + n, at::kFloat).to(device);
    all.emplace_back("p" + std::to_string(n), leaf);
  };
  add(random_normal({40000}, 1, at::kFloat));
  add(random_normal({6, 5, 3, 3}, 2, at::kFloat)
          .contiguous(at::MemoryFormat::ChannelsLast));
  for (int64_t i = 1; i < 100; ++i)
    add(random_normal({i, 3}, 2 + i, at::kFloat));
  return all;
}

TEST(Optimizer, AGpuTakesTheStepsOfTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const std::string yaml :
       {"{name: adam, weight_decay: 0.1}", "{name: adamw, weight_decay: 0.1}",
        "{name: sgd, momentum: 0.9, weight_decay: 0.1}",
        "{name: sgd, momentum: 0.9, nesterov: true}"}) {
    const NamedTensors cpu = many_parameters(at::kCPU);
    const NamedTensors gpu = many_parameters(at::kCUDA);
    const auto on_cpu = make_optimizer(yaml, cpu);
    const auto on_gpu = make_optimizer(yaml, gpu);
    for (int step = 0; step < 3; ++step) {
      EXPECT_NEAR(clip_gradients(cpu, 0) / clip_gradients(gpu, 0), 1, 1e-6);
      on_cpu->step(0.01);
      on_gpu->step(0.01);
    }
    for (size_t i = 0; i < cpu.size(); ++i) {
      EXPECT_LE(max_difference(cpu[i].second, gpu[i].second), 1e-6)
          << yaml << ", " << cpu[i].first;
    }
  }
}

TEST(Optimizer, ChangesTheVersionOfAParameter) {
  for (const std::string yaml :
       {"{name: adam}", "{name: adamw}", "{name: sgd}"}) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const Tensor p = random_normal({4, 3}, 1, type).requires_grad_();
      const auto optimizer = make_optimizer(yaml, {{"p", p}});
      p.mutable_grad() = torch::ones_like(p);
      const auto before = p._version();
      optimizer->step(0.1);
      EXPECT_GT(p._version(), before) << yaml;
    }
  }
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
