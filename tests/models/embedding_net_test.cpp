#include "kith/models/embedding_net.h"

#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/tensor_limit.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

ConfigNode model(const std::string& yaml) {
  return complete_model(parse_config(yaml, "model.yaml"));
}

/// Two pictures of 1 x 2 pixels in colour.
BatchPart colour_batch() {
  BatchPart batch;
  batch.positions = {0, 1};
  batch.height = 1;
  batch.width = 2;
  batch.channels = 3;
  batch.pixels.reset(new uint8_t[12]{0, 51, 102, 255, 204, 153,  //
                                     255, 255, 255, 0, 0, 0});
  return batch;
}

ConfigNode colour_model(const std::string& more = "") {
  return model(
      "{input: {size: 8, colour: rgb, mean: [0, 0.5, 1], std: [1, 0.5, 0.25]}, "
      "backbone: {name: convnet, width: 2}" +
      more + "}");
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
  const EmbeddingNet net(colour_model());
  const Tensor images = net.prepare(pixels_of(colour_batch()));
  ASSERT_EQ(images.sizes(), (std::vector<int64_t>{2, 3, 1, 2}));
  EXPECT_EQ(images.scalar_type(), torch::kFloat);
  EXPECT_TRUE(images.is_contiguous(torch::MemoryFormat::ChannelsLast));
  const Tensor expected = torch::tensor({0., 1., -0.6, 0.6, -2.4, -1.6,  //
                                         1., 0., 1., -1., 0., -4.},
                                        torch::kDouble)
                              .view({2, 3, 1, 2});
  EXPECT_LE(max_difference(images, expected), 1e-6);
  EXPECT_THROW(net.prepare(torch::zeros({2, 8, 8, 1}, torch::kByte)),
               c10::ValueError);
  EXPECT_THROW(net.prepare(torch::zeros({2, 8, 8, 3})), c10::ValueError);
}

// With the mean of BN-Inception's weights, which count bytes and not shares.
TEST(EmbeddingNet, PrepareTurnsTheChannelsForBgr) {
  const EmbeddingNet net(
      model("{input: {size: 8, colour: bgr, mean: [0.4078431372549, "
            "0.4588235294118, 0.5019607843137], std: [0.003921568627451, "
            "0.003921568627451, 0.003921568627451]}, "
            "backbone: {name: convnet, width: 2}}"));
  const Tensor pixels =
      (20 * torch::arange(12)).to(torch::kByte).view({2, 1, 2, 3});
  const Tensor expected =
      pixels.to(torch::kDouble).flip({3}).permute({0, 3, 1, 2}) -
      torch::tensor({104., 117., 128.}, torch::kDouble).view({3, 1, 1});
  const Tensor images = net.prepare(pixels);
  EXPECT_TRUE(images.is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_LE(max_difference(images, expected), 1e-4);
}

TEST(PixelsOf, IsAViewThatKeepsTheMemoryAlive) {
  Tensor pixels;
  std::weak_ptr<uint8_t[]> memory;
  {
    const BatchPart batch = colour_batch();
    memory = batch.pixels;
    pixels = pixels_of(batch);
    EXPECT_EQ(pixels.data_ptr(), batch.pixels.get());
  }
  EXPECT_FALSE(memory.expired());
  EXPECT_EQ(pixels.sizes(), (std::vector<int64_t>{2, 1, 2, 3}));
  EXPECT_EQ(pixels.sum().item<int64_t>(), 3 * 255 + 3 * 255);
  pixels.reset();
  EXPECT_TRUE(memory.expired());
}

std::string trainable(const EmbeddingNet& net) {
  std::string names;
  for (const auto& entry : net.named_parameters()) {
    if (!entry.value().requires_grad()) continue;
    if (entry.key().find("block1") == std::string::npos &&
        entry.key().find("linear.bias") == std::string::npos) {
      continue;
    }
    names += entry.key() + " ";
  }
  return names;
}

TEST(EmbeddingNet, TheBackboneCanBeFrozen) {
  for (const std::string bn : {"train", "stats", "all"}) {
    EmbeddingNet net(colour_model(", bn: " + bn));
    const std::string all = trainable(net);
    EXPECT_EQ(all, bn == "all" ? "backbone.block1_conv.weight head.linear.bias "
                               : "backbone.block1_conv.weight "
                                 "backbone.block1_norm.weight "
                                 "backbone.block1_norm.bias head.linear.bias ");
    net.freeze_backbone(true);
    EXPECT_EQ(trainable(net), "head.linear.bias ");
    net.freeze_backbone(false);
    EXPECT_EQ(trainable(net), all);
  }
}

TEST(EmbeddingNet, KeptStatisticsSurviveTraining) {
  for (const std::string bn : {"train", "stats", "all"}) {
    EmbeddingNet net(colour_model(", bn: " + bn));
    net.train();
    std::vector<Tensor> before;
    for (const Tensor& buffer : net.buffers()) before.push_back(buffer.clone());
    net.forward(random_normal({4, 3, 8, 8}, 1, at::kFloat)).sum().backward();
    bool same = true;
    for (size_t i = 0; i < before.size(); ++i) {
      same = same && torch::equal(net.buffers()[i], before[i]);
    }
    EXPECT_EQ(same, bn != "train") << bn;
    for (const auto& module : net.modules(false)) {
      if (const auto* norm = module->as<torch::nn::BatchNorm2dImpl>()) {
        EXPECT_EQ(norm->is_training(), bn == "train");
      }
    }
  }
}

TEST(EmbeddingNet, APrecisionForGpusLeavesTheCpuAlone) {
  const Tensor images = random_normal({4, 3, 8, 8}, 1, at::kFloat);
  const auto embedded = [&](const std::string& precision) {
    torch::manual_seed(1);
    EmbeddingNet net(colour_model(", precision: " + precision));
    net.apply_precision();
    EXPECT_EQ(at::globalContext().allowTF32CuDNN(), precision == "tf32");
    return net.forward(images).detach();
  };
  const Tensor expected = embedded("float32");
  EXPECT_TRUE(same_bits(embedded("tf32"), expected));
  EXPECT_TRUE(same_bits(embedded("bf16"), expected));
  embedded("float32");
}

TEST(EmbeddingNet, AClassTokenNeedsATransformer) {
  expect_error<ConfigError>(
      [] { EmbeddingNet net(colour_model(", head: {pooling: class_token}")); },
      "model.head.pooling", "class_token");
}

// bfloat16 has 8 bits: embeddings of unit length differ in the third digit.
TEST(EmbeddingNet, CudaGivesWhatTheCpuGives) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const Tensor pixels = torch::randint(256, {4, 64, 64, 3}, torch::kByte);
  for (const std::string backbone :
       {"resnet18", "mobilenet_v2", "googlenet", "inception_v1", "bn_inception",
        "convnet"}) {
    for (const std::string precision : {"float32", "tf32", "bf16"}) {
      for (const std::string bn : {"train", "stats"}) {
        SCOPED_TRACE(backbone + " " + precision + " " + bn);
        EmbeddingNet net(model(
            "{input: {size: 64, colour: rgb, mean: [0.5, 0.5, 0.5], std: [0.5, "
            "0.5, 0.5]}, backbone: {name: " +
            backbone + "}, bn: " + bn + ", precision: " + precision + "}"));
        net.eval();
        net.apply_precision();
        const Tensor expected = net.forward(net.prepare(pixels)).detach();
        net.use_device(c10::Device(c10::kCUDA, 0));
        const Tensor images = net.prepare(pixels.to(net.device()));
        EXPECT_TRUE(images.is_contiguous(torch::MemoryFormat::ChannelsLast));
        const Tensor x = net.forward(images);
        EXPECT_EQ(x.scalar_type(), torch::kFloat);
        const double tolerance = precision == "float32" ? 1e-4
                                 : precision == "tf32"  ? 1e-2
                                                        : 5e-2;
        EXPECT_LE(max_difference(x, expected), tolerance);
        x.select(1, 0).sum().backward();
        for (const auto& entry : net.named_parameters()) {
          EXPECT_TRUE(torch::isfinite(entry.value().grad()).all().item<bool>())
              << entry.key();
        }
      }
    }
  }
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

// A file from elsewhere may ask for a backbone; the head is the user's.
TEST(EmbeddingNet, TheBackboneAloneMayBeLimited) {
  const ConfigNode section =
      model("{backbone: {name: convnet, width: 2}, head: {dim: 100000}}");
  const auto limited = [&](const auto& make) {
    torch::manual_seed(1);
    const TensorLimit limit(1 << 20, "too large");
    return make();
  };
  expect_error<DataError>(
      [&] { limited([&] { return std::make_unique<EmbeddingNet>(section); }); },
      "too large");
  const EmbeddingNet net(
      section, limited([&] { return EmbeddingNet::make_backbone(section); }));
  torch::manual_seed(1);
  const NamedTensors expected = EmbeddingNet(section).state();
  const NamedTensors state = net.state();
  ASSERT_EQ(state.size(), expected.size());
  for (size_t i = 0; i < state.size(); ++i) {
    EXPECT_TRUE(same_bits(state[i].second, expected[i].second))
        << state[i].first;
  }
}

TEST(CompleteModel, FillsInEveryDefaultAndIsAFixedPoint) {
  const ConfigNode all = model("{}");
  EXPECT_EQ(all.find("backbone")->find("name")->scalar, "convnet");
  EXPECT_EQ(all.find("backbone")->find("width")->scalar, "64");
  EXPECT_EQ(all.find("head")->find("pooling")->scalar, "gem");
  EXPECT_EQ(all.find("input")->find("size")->scalar, "64");
  EXPECT_EQ(all.find("weights")->scalar, "");
  EXPECT_EQ(all.find("bn")->scalar, "train");
  EXPECT_EQ(all.find("precision")->scalar, "float32");
  EXPECT_EQ(to_yaml(model(to_yaml(all))), to_yaml(all));
}

TEST(CompleteModel, LeavesTheColourToTheDataAndTheRestToTheWeights) {
  const auto input = [](const std::string& yaml, const std::string& colour) {
    const ConfigNode all =
        complete_model(parse_config(yaml, "model.yaml"), colour);
    return to_yaml(*all.find("input")->find("colour")) +
           to_yaml(*all.find("input")->find("mean"));
  };
  EXPECT_EQ(input("{}", "auto"), "auto\n[]\n");
  EXPECT_EQ(input("{}", "rgb"), "rgb\n[0.5, 0.5, 0.5]\n");
  EXPECT_EQ(input("{weights: x.pth}", "rgb"), "rgb\n[0.485, 0.456, 0.406]\n");
  EXPECT_EQ(input("{weights: x.pth, backbone: {name: googlenet}}", "rgb"),
            "rgb\n[0.5, 0.5, 0.5]\n");
  for (const char* caffe : {"bn_inception", "inception_v1"}) {
    const std::string text =
        input("{weights: x.pth, backbone: {name: " + std::string(caffe) + "}}",
              "rgb");
    EXPECT_EQ(text.substr(0, 12), "bgr\n[0.40784") << text;
  }
  EXPECT_EQ(input("{backbone: {name: bn_inception}}", "rgb"),
            "rgb\n[0.5, 0.5, 0.5]\n");
  expect_error<ConfigError>(
      [] { EmbeddingNet net(complete_model(parse_config("{}", "m"), "auto")); },
      "'model.input.colour' is auto");
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
  refused("{input: {size: 0}}", "model.input.size");
  refused("{input: {colour: rgb, mean: [0.5]}}", "model.input.mean",
          "3 values");
  refused("{input: {std: [0]}}", "model.input.std", "greater than 0");
  refused("bn: freeze", "model.yaml:1", "model.bn",
          "one of train, sync, stats, all");
  refused("precision: fp16", "model.precision", "float32, tf32, bf16");
  refused("weight: a.pth", "model.weight", "did you mean 'weights'?");
  refused("{head: 3}", "model.head", "map");
}

}  // namespace
}  // namespace kith
