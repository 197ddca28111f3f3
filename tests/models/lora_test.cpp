// Adapters of low rank (model.lora): their formula and its gradients against
// the plain form in double, the start, and the merged network.

#include "kith/models/lora.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/embedding_net.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::UnorderedElementsAre;

/// A convolution and a linear layer on its mean.
class TwoLayers final : public Backbone {
 public:
  TwoLayers() {
    conv_ = register_module(
        "conv",
        torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).padding(1)));
    linear_ = register_module("linear", torch::nn::Linear(4, 6));
  }

  int64_t features() const override { return 6; }

  Features run(const Tensor& images, const Mixing&) override {
    const Tensor z = conv_->forward(images).relu().mean({2, 3});
    return {linear_->forward(z).unsqueeze(-1).unsqueeze(-1), {}};
  }

 private:
  torch::nn::Conv2d conv_{nullptr};
  torch::nn::Linear linear_{nullptr};
};

constexpr int64_t kRank = 3;
constexpr double kAlpha = 6;

std::shared_ptr<EmbeddingNet> adapted_layers() {
  torch::manual_seed(1);
  auto net = std::make_shared<EmbeddingNet>(
      InputOptions{.size = 5, .colour = "grey"}, std::make_shared<TwoLayers>(),
      HeadOptions{.dim = 4, .pooling = "average"},
      ModelOptions{.lora = {.rank = kRank, .alpha = kAlpha}});
  net->to(at::kDouble);
  const torch::NoGradGuard no_grad;
  uint64_t seed = 0;
  for (const auto& [name, weight] : net->weights()) {  // B is zero at first
    if (is_of_lora(name)) {
      Tensor(weight).copy_(random_normal(weight.sizes().vec(), ++seed));
    }
  }
  return net;
}

/// Copies of a network's weights that want gradients of their own.
std::map<std::string, Tensor> leaves_of(const EmbeddingNet& net) {
  std::map<std::string, Tensor> leaves;
  for (const auto& [name, weight] : net.weights()) {
    leaves[name] = weight.detach().clone().requires_grad_();
  }
  return leaves;
}

/// W x + (alpha / rank) B A x, one after another.
Tensor plain_form(std::map<std::string, Tensor>& w, const Tensor& x) {
  const auto of = [&](const char* name) {
    return w.at("backbone." + std::string(name));
  };
  const double s = kAlpha / kRank;
  const Tensor low =
      torch::conv2d(x, of("conv.lora_a").view({kRank, 1, 3, 3}), {}, 1, 1);
  const Tensor map =
      torch::conv2d(x, of("conv.weight"), of("conv.bias"), 1, 1) +
      s * torch::conv2d(low, of("conv.lora_b").view({4, kRank, 1, 1}));
  const Tensor z = map.relu().mean({2, 3});
  const Tensor y =
      torch::linear(z, of("linear.weight"), of("linear.bias")) +
      s * z.mm(of("linear.lora_a").t()).mm(of("linear.lora_b").t());
  const Tensor e =
      torch::linear(y, w.at("head.linear.weight"), w.at("head.linear.bias"));
  return e / e.norm(2, 1, true);
}

TEST(Lora, IsItsFormulaAndSoAreItsGradients) {
  const auto net = adapted_layers();
  auto w = leaves_of(*net);
  const Tensor x = random_normal({7, 1, 5, 5}, 9);
  const Tensor c = random_normal({7, 4}, 10);
  const Tensor ours = net->forward(x), plain = plain_form(w, x);
  EXPECT_LE(max_difference(ours, plain), 1e-12);
  (ours * c).sum().backward();
  (plain * c).sum().backward();
  for (const auto& [name, weight] : net->weights()) {
    const bool trains = name.starts_with("head.") || is_of_lora(name);
    ASSERT_EQ(weight.grad().defined(), trains) << name;
    if (!trains) continue;
    EXPECT_GT(w.at(name).grad().abs().max().item<double>(), 1e-4) << name;
    EXPECT_LE(max_difference(weight.grad(), w.at(name).grad()), 1e-12) << name;
  }
}

ConfigNode lora_model(const std::string& lora,
                      const std::string& backbone = "mlp") {
  return complete_model(parse_config(
      "{input: {size: 16, colour: grey}, backbone: {name: " + backbone +
          "}, head: {dim: 8}, lora: " + lora + "}",
      "model.yaml"));
}

std::unique_ptr<EmbeddingNet> seeded(const ConfigNode& section) {
  torch::manual_seed(5);
  return std::make_unique<EmbeddingNet>(section);
}

TEST(Lora, StartsAsTheNetworkWithoutIt) {
  for (const std::string backbone : {"mlp", "convnet", "resnet18"}) {
    const auto plain = seeded(lora_model("{}", backbone));
    const auto with = seeded(lora_model("{rank: 4}", backbone));
    plain->eval();
    with->eval();
    const Tensor x = random_normal({3, 1, 16, 16}, 1, at::kFloat);
    EXPECT_TRUE(
        same_bits(plain->forward(x).detach(), with->forward(x).detach()))
        << backbone;
  }
}

TEST(Lora, IsMergedIntoAPlainNetwork) {
  for (const std::string backbone : {"mlp", "convnet"}) {
    const auto net = seeded(lora_model("{rank: 2, alpha: 3}", backbone));
    const torch::NoGradGuard no_grad;
    for (const auto& [name, weight] : net->weights()) {
      if (name.ends_with(".lora_b")) Tensor(weight).normal_();
    }
    net->eval();
    const auto merged = net->merged();
    merged->eval();
    const Tensor x = random_normal({3, 1, 16, 16}, 2, at::kFloat);
    EXPECT_TRUE(same_bits(net->forward(x), merged->forward(x))) << backbone;
    EXPECT_GT(max_difference(seeded(lora_model("{}", backbone))->forward(x),
                             merged->forward(x)),
              1e-3);
    EXPECT_EQ(merged->section().find("lora")->find("rank")->scalar, "0");
    for (const auto& [name, weight] : merged->weights()) {
      EXPECT_FALSE(is_of_lora(name)) << name;
      EXPECT_TRUE(weight.requires_grad()) << name;
    }
  }
}

TEST(Lora, AdaptsTheLayersThatFitItsTargets) {
  const auto net = seeded(lora_model("{rank: 2, targets: ['*.layer2']}"));
  std::vector<std::string> trained;
  for (const auto& [name, weight] : net->trained()) trained.push_back(name);
  EXPECT_THAT(trained,
              UnorderedElementsAre("backbone.layer2.lora_a",
                                   "backbone.layer2.lora_b", "head.gem_p",
                                   "head.linear.weight", "head.linear.bias"));
  // Of a convolution: 3 x 3 x 8 columns, 8 rows.
  const auto conv = seeded(lora_model(
      "{rank: 2, targets: [backbone.block2_conv]}", "convnet, width: 8"));
  for (const auto& [name, weight] : conv->weights()) {
    if (name.ends_with("lora_a")) {
      EXPECT_EQ(weight.sizes(), (std::vector<int64_t>{2, 72}));
    }
    if (name.ends_with("lora_b")) {
      EXPECT_EQ(weight.sizes(), (std::vector<int64_t>{8, 2}));
    }
  }
}

TEST(Lora, HasNoHigherRankThanTheLayer) {
  const auto net = seeded(lora_model("{rank: 20}", "convnet, width: 8"));
  for (const auto& [name, weight] : net->weights()) {
    if (!name.ends_with("lora_a")) continue;
    const bool is_first = name.find("block1") != std::string::npos;
    EXPECT_EQ(weight.sizes(), (std::vector<int64_t>{8, is_first ? 9 : 72}));
  }
}

// Batch norm of a backbone that stays keeps its statistics, or the merged
// network would be another one.
TEST(Lora, KeepsTheStatisticsOfTheBackbone) {
  const auto net = seeded(lora_model("{rank: 2}", "convnet"));
  net->train();
  std::map<std::string, Tensor> before;
  for (const auto& [name, tensor] : net->state()) {
    before[name] = tensor.detach().clone();
  }
  net->forward(random_normal({4, 1, 16, 16}, 3, at::kFloat));
  for (const auto& [name, tensor] : net->state()) {
    EXPECT_TRUE(same_bits(before[name], tensor.detach())) << name;
  }
}

TEST(Lora, RefusesTargetsThatFitNothing) {
  expect_error<ConfigError>(
      [] { seeded(lora_model("{rank: 2, targets: ['*.attn.qkv']}")); },
      "'model.lora.targets': '*.attn.qkv' fits no linear layer or convolution "
      "of the backbone; the nearest names are ");
  expect_error<ConfigError>([] { lora_model("{alpha: 8}"); },
                            "model.yaml:1: 'model.lora' needs a 'rank'");
  expect_error<ConfigError>([] { lora_model("{rank: -1}"); },
                            "'model.lora.rank' must be");
  expect_error<ConfigError>([] { lora_model("{ranks: 1}"); },
                            "model.lora.ranks");
}

}  // namespace
}  // namespace kith
