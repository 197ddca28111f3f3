#include "kith/models/embedding_net.h"

#include <set>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

ConfigNode model(const std::string& yaml) {
  return complete_model(parse_config(yaml, "model.yaml"));
}

TEST(EmbeddingNet, EmbedsPictures) {
  EmbeddingNet net(
      model("{backbone: {name: convnet, width: 4}, "
            "head: {dim: 9}}"));
  EXPECT_EQ(net.dim(), 9);
  EXPECT_EQ(net.input().size, 64);
  EXPECT_EQ(net.forward(torch::zeros({2, 1, 64, 64})).sizes(),
            (std::vector<int64_t>{2, 9}));
}

TEST(EmbeddingNet, PreparePutsChannelsFirstAndNormalises) {
  const EmbeddingNet net(
      model("{input: {size: 8, colour: rgb, mean: [0, 0.5, 1], "
            "std: [1, 0.5, 0.25]}, backbone: {name: convnet, width: 2}}"));
  Batch batch;
  batch.indices = {0, 1};
  batch.height = 1;
  batch.width = 2;
  batch.channels = 3;
  batch.pixels = {0,   51,  102, 255, 204, 153,  // two pixels
                  255, 255, 255, 0,   0,   0};
  const Tensor images = net.prepare(batch);
  ASSERT_EQ(images.sizes(), (std::vector<int64_t>{2, 3, 1, 2}));
  EXPECT_TRUE(images.is_contiguous());
  const Tensor expected = torch::tensor({0., 1., -0.6, 0.6, -2.4, -1.6,  //
                                         1., 0., 1., -1., 0., -4.},
                                        torch::kDouble)
                              .view({2, 3, 1, 2});
  EXPECT_LE(max_difference(images, expected), 1e-6);
}

TEST(EmbeddingNet, PrepareDoesNotKeepTheBatch) {
  const EmbeddingNet net(model("{backbone: {name: convnet, width: 2}}"));
  Batch batch;
  batch.indices = {0};
  batch.height = batch.width = batch.channels = 1;
  batch.pixels = {255};
  const Tensor images = net.prepare(batch);
  batch.pixels[0] = 0;
  EXPECT_EQ(images.item<float>(), 1);
}

TEST(EmbeddingNet, StateHasParametersAndBuffersOnce) {
  const EmbeddingNet net(model("{backbone: {name: convnet, width: 2}}"));
  std::set<std::string> names;
  for (const auto& [name, tensor] : net.state()) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(tensor.defined()) << name;
  }
  for (const char* name :
       {"backbone.block1_conv.weight", "backbone.block4_norm.running_var",
        "backbone.block1_norm.num_batches_tracked", "head.gem_p",
        "head.linear.bias"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(EmbeddingNet, TheSeedDecidesTheWeights) {
  const auto weights = [](uint64_t seed) {
    torch::manual_seed(seed);
    return EmbeddingNet(model("{backbone: {name: convnet, width: 2}}"))
        .parameters()
        .front();
  };
  EXPECT_TRUE(torch::equal(weights(1), weights(1)));
  EXPECT_FALSE(torch::equal(weights(1), weights(2)));
}

TEST(CompleteModel, FillsInEveryDefaultAndIsAFixedPoint) {
  const ConfigNode all = model("{}");
  EXPECT_EQ(all.find("backbone")->find("name")->scalar, "convnet");
  EXPECT_EQ(all.find("backbone")->find("width")->scalar, "64");
  EXPECT_EQ(all.find("head")->find("pooling")->scalar, "gem");
  EXPECT_EQ(all.find("input")->find("size")->scalar, "64");
  EXPECT_EQ(to_yaml(model(to_yaml(all))), to_yaml(all));
}

TEST(CompleteModel, NamesWhatIsWrong) {
  const auto refused = [](const std::string& yaml, const auto&... parts) {
    expect_error<ConfigError>([&] { model(yaml); }, parts...);
  };
  refused("{hed: {}}", "model.yaml:1", "model.hed", "did you mean 'head'?");
  refused("head:\n  dims: 3", "model.yaml:2", "model.head.dims",
          "did you mean 'dim'?");
  refused("backbone:\n  name: convent", "model.yaml:2", "convent",
          "did you mean 'convnet'?");
  refused("backbone: {width: 0}", "model.backbone.width");
  refused("{input: {size: 4}}", "model.input.size");
  refused("{input: {colour: rgb}}", "model.input.mean", "3 values");
  refused("{input: {std: [0]}}", "model.input.std", "greater than 0");
  refused("{head: 3}", "model.head", "map");
}

}  // namespace
}  // namespace kith
