#include "kith/models/own_network.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"
#include "kith/models/embedding_net.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

const InputOptions kSmallInput = {.size = 16, .colour = "grey"};

/// What EmbeddingNet makes of a convnet and a head, as a user may write it.
struct OwnConvnetImpl : torch::nn::Module {
  OwnConvnetImpl() {
    backbone = register_module(
        "backbone", std::make_shared<Convnet>(ConvnetOptions{.width = 4},
                                              BackboneInput{1, 16}));
    head = register_module(
        "head", std::make_shared<Head>(HeadOptions{.dim = 8}, *backbone));
  }

  Tensor forward(Tensor x) { return head->forward(backbone->forward(x)); }

  std::shared_ptr<Convnet> backbone;
  std::shared_ptr<Head> head;
};
TORCH_MODULE(OwnConvnet);

std::shared_ptr<EmbeddingNet> kith_convnet() {
  torch::manual_seed(3);
  return EmbeddingNet::make<Convnet>({.width = 4}, kSmallInput, {.dim = 8});
}

/// The same network in each of the forms that a user's may have.
std::vector<OwnNetwork> own_convnets() {
  const auto make = [] {
    torch::manual_seed(3);
    return std::make_shared<OwnConvnetImpl>();
  };
  const auto module = make();
  return {OwnNetwork(make()), OwnNetwork(OwnConvnet(make())),
          OwnNetwork(torch::nn::AnyModule(make())),
          OwnNetwork([module](const Tensor& x) { return module->forward(x); },
                     module)};
}

Tensor some_pixels() {
  return (random_normal({6, 16, 16, 1}, 3, at::kFloat) * 60 + 128)
      .clamp(0, 255)
      .to(torch::kByte);
}

TEST(OwnNetwork, EmbedsAndLearnsAsTheSameNetworkOfKith) {
  const auto expected = kith_convnet();
  const Tensor wanted = expected->forward(expected->prepare(some_pixels()));
  const Tensor direction = random_normal({6, 8}, 4, at::kFloat);
  (wanted * direction).sum().backward();
  for (const OwnNetwork& own : own_convnets()) {
    EmbeddingNet net(kSmallInput, own, {.l2 = false});
    EXPECT_EQ(net.dim(), 8);
    const Tensor got = net.forward(net.prepare(some_pixels()));
    EXPECT_TRUE(same_bits(got.detach(), wanted.detach()));
    (got * direction).sum().backward();
    const NamedTensors theirs = expected->weights(), ours = net.weights();
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(ours[i].first, theirs[i].first);  // as the user named them
      EXPECT_TRUE(same_bits(ours[i].second.grad(), theirs[i].second.grad()))
          << ours[i].first;
    }
  }
}

TEST(OwnNetwork, StateHasParametersAndBuffersOfTheUser) {
  EmbeddingNet net(kSmallInput, std::make_shared<OwnConvnetImpl>());
  const NamedTensors expected = kith_convnet()->state(), got = net.state();
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].first, expected[i].first);
  }
}

TEST(OwnNetwork, EmbeddingsAreUnitVectorsUnlessTheyAreNotToBe) {
  const auto linear = [] {
    return torch::nn::Sequential(torch::nn::Flatten(),
                                 torch::nn::Linear(256, 3));
  };
  EmbeddingNet unit(kSmallInput, linear());
  EXPECT_TRUE(unit.is_unit());
  const Tensor norms =
      unit.forward(unit.prepare(some_pixels())).norm(2, 1).detach();
  EXPECT_LE(max_difference(norms, torch::ones({6})), 1e-6);

  EmbeddingNet plain(kSmallInput, linear(), {.l2 = false});
  EXPECT_FALSE(plain.is_unit());
  EXPECT_GT(max_difference(
                plain.forward(plain.prepare(some_pixels())).norm(2, 1).detach(),
                torch::ones({6})),
            1e-3);
}

TEST(OwnNetwork, MayKeepItsStatisticsInTraining) {
  for (const bool keep : {false, true}) {
    EmbeddingNet net(kSmallInput, std::make_shared<OwnConvnetImpl>(),
                     {.keep_statistics = keep});
    net.train();
    const Tensor before = net.backbone().buffers()[0].clone();
    net.forward(net.prepare(some_pixels()));
    EXPECT_EQ(same_bits(before, net.backbone().buffers()[0]), keep);
  }
}

/// What a layer on its own makes of pictures, with a module beside it.
void try_function(const OwnNetwork::Function& function) {
  EmbeddingNet(kSmallInput,
               OwnNetwork(function, torch::nn::Linear(2, 2).ptr()));
}

TEST(OwnNetwork, RefusesWhatMakesNoRowsOfEmbeddings) {
  expect_error<ConfigError>(
      [] { try_function([](const Tensor& x) { return x; }); },
      "the network must make one row per picture, [N, D]: it made [2, 1, 16, "
      "16] (CPUFloatType) of [2, 1, 16, 16]");
  expect_error<ConfigError>(
      [] { try_function([](const Tensor& x) { return x.flatten(1)[0]; }); },
      "it made [256]");
  expect_error<ConfigError>(
      [] {
        try_function(
            [](const Tensor& x) { return x.flatten(1).to(at::kLong); });
      },
      "(CPULongType)");
  expect_error<ConfigError>(
      [] {
        try_function(
            [](const Tensor& x) { return x.flatten(1).narrow(1, 0, 0); });
      },
      "embeddings without numbers");
}

TEST(OwnNetwork, RefusesAnotherDimensionLater) {
  const auto width = std::make_shared<int64_t>(3);
  const auto function = [width](const Tensor& x) {
    return x.flatten(1).narrow(1, 0, *width);
  };
  EmbeddingNet net(kSmallInput,
                   OwnNetwork(function, torch::nn::Linear(2, 2).ptr()));
  *width = 4;
  expect_error<ConfigError>(
      [&] { net.forward(net.prepare(some_pixels())); },
      "must make one row per picture of 3 numbers: it made [6, 4]");
}

TEST(OwnNetwork, NeedsParameters) {
  expect_error<ConfigError>(
      [] {
        EmbeddingNet(kSmallInput, torch::nn::Sequential(torch::nn::Flatten()));
      },
      "the network has no parameters to train");
  expect_error<ConfigError>(
      [] {
        EmbeddingNet(kSmallInput,
                     OwnNetwork([](const Tensor& x) { return x; }, nullptr));
      },
      "or give a function the module that has them");
}

TEST(OwnNetwork, NeedsAColour) {
  expect_error<ConfigError>(
      [] { EmbeddingNet({.size = 16}, std::make_shared<OwnConvnetImpl>()); },
      "'model.input.colour' is auto");
}

TEST(OwnNetwork, ItsSectionCannotBeMadeAgain) {
  const EmbeddingNet net(kSmallInput, std::make_shared<OwnConvnetImpl>());
  EXPECT_TRUE(net.is_own());
  EXPECT_EQ(net.section().find("dim")->scalar, "8");
  expect_error<ConfigError>([&] { EmbeddingNet again(net.section()); },
                            "the network of this run is its user's own");
}

TEST(EmbeddingNet, IsMadeOfOptionsAsOfAConfiguration) {
  const auto typed = kith_convnet();
  torch::manual_seed(3);
  const EmbeddingNet read(complete_model(
      parse_config("{input: {size: 16}, backbone: {name: convnet, width: 4}, "
                   "head: {dim: 8}}",
                   "test"),
      "grey"));
  EXPECT_EQ(to_yaml(typed->section()), to_yaml(read.section()));
  EXPECT_FALSE(typed->is_own());
  const NamedTensors a = typed->state(), b = read.state();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(same_bits(a[i].second.detach(), b[i].second.detach()));
  }
}

TEST(EmbeddingNet, TakesABackboneThatIsThere) {
  torch::manual_seed(3);
  EmbeddingNet net(kSmallInput,
                   std::make_shared<Convnet>(ConvnetOptions{.width = 4},
                                             BackboneInput{1, 16}),
                   {.dim = 8});
  const auto expected = kith_convnet();
  EXPECT_TRUE(
      same_bits(net.forward(net.prepare(some_pixels())).detach(),
                expected->forward(expected->prepare(some_pixels())).detach()));
  EXPECT_TRUE(net.is_own());
}

TEST(EmbeddingNet, ChecksOptionsOfCpp) {
  expect_error<ConfigError>(
      [] { EmbeddingNet::make<Convnet>({.width = 0}, kSmallInput); },
      "model.backbone.width");
  expect_error<ConfigError>(
      [] {
        Convnet({.width = 0}, {1, 16});
      },
      "convnet.width");
}

}  // namespace
}  // namespace kith
