#include <set>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/models/backbone.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::unique_ptr<Backbone> make(const std::string& name,
                               const BackboneInput& input) {
  return backbone_registry().make(parse_config("{name: " + name + "}", "test"),
                                  "model.backbone", input);
}

int64_t parameter_count(const Backbone& net) {
  int64_t count = 0;
  for (const Tensor& t : net.parameters()) count += t.numel();
  return count;
}

std::set<std::string> names_of(const Backbone& net) {
  std::set<std::string> names;
  for (const auto& entry : net.named_parameters()) names.insert(entry.key());
  for (const auto& entry : net.named_buffers()) names.insert(entry.key());
  return names;
}

struct Expected {
  std::string name;
  int64_t features;
  int64_t parameters;  ///< Of torchvision's model without its classifier.
  std::vector<std::string> names;
};

const Expected kConvolutional[] = {
    {"resnet18",
     512,
     11'176'512,
     {"conv1.weight", "bn1.running_mean", "layer1.0.conv1.weight",
      "layer1.1.bn2.num_batches_tracked", "layer2.0.downsample.0.weight",
      "layer2.0.downsample.1.bias", "layer4.1.conv2.weight"}},
    {"resnet34", 512, 21'284'672, {"layer3.5.conv2.weight"}},
    {"resnet50",
     2048,
     23'508'032,
     {"layer1.0.downsample.1.running_var", "layer3.5.bn3.weight"}},
    {"resnet101", 2048, 42'500'160, {"layer3.22.conv3.weight"}},
    {"mobilenet_v2",
     1280,
     2'223'872,
     {"features.0.0.weight", "features.0.1.running_var",
      "features.1.conv.0.0.weight", "features.1.conv.1.weight",
      "features.1.conv.2.bias", "features.2.conv.1.1.weight",
      "features.17.conv.2.weight", "features.17.conv.3.num_batches_tracked",
      "features.18.0.weight", "features.18.1.weight"}},
    {"googlenet",
     1024,
     5'599'904,
     {"conv1.conv.weight", "conv1.bn.running_mean", "conv3.bn.bias",
      "inception3a.branch1.conv.weight", "inception3a.branch2.0.conv.weight",
      "inception4e.branch3.1.bn.weight", "inception5b.branch4.1.conv.weight",
      "inception5b.branch4.1.bn.num_batches_tracked"}}};

void expect_names(const Backbone& net, const Expected& expected) {
  const std::set<std::string> names = names_of(net);
  for (const std::string& name : expected.names) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(Backbones, ConvolutionalOnesHaveTheSizesAndNamesOfTorchvision) {
  for (const Expected& expected : kConvolutional) {
    SCOPED_TRACE(expected.name);
    const auto net = make(expected.name, {3, 64, "all"});
    EXPECT_EQ(parameter_count(*net), expected.parameters);
    EXPECT_EQ(net->features(), expected.features);
    EXPECT_FALSE(net->has_token());
    expect_names(*net, expected);
    const torch::NoGradGuard no_grad;
    const Features out =
        net->forward(random_normal({1, 3, 64, 49}, 1, at::kFloat));
    EXPECT_EQ(out.map.sizes(),
              (std::vector<int64_t>{1, expected.features, 2, 2}));
    EXPECT_FALSE(out.token.defined());
    EXPECT_GE(out.map.min().item<float>(), 0);
    EXPECT_GT(out.map.max().item<float>(), 0);
  }
}

TEST(Backbones, TransformersHaveTheSizesOfTorchvision) {
  const std::vector<std::string> names = {"cls_token",
                                          "patch_embed.proj.weight",
                                          "patch_embed.proj.bias",
                                          "pos_embed",
                                          "blocks.0.norm1.weight",
                                          "blocks.0.attn.qkv.weight",
                                          "blocks.0.attn.qkv.bias",
                                          "blocks.11.attn.proj.weight",
                                          "blocks.11.norm2.bias",
                                          "blocks.11.mlp.fc1.weight",
                                          "blocks.11.mlp.fc2.bias",
                                          "norm.weight"};
  for (const Expected& expected :
       {Expected{"vit_b_16", 768, 85'798'656, names},
        Expected{"vit_b_32", 768, 87'455'232, names}}) {
    const auto net = make(expected.name, {3, 224, "train"});
    EXPECT_EQ(parameter_count(*net), expected.parameters);
    EXPECT_EQ(net->features(), expected.features);
    EXPECT_TRUE(net->has_token());
    expect_names(*net, expected);
  }
}

TEST(Backbones, GradientsReachEveryParameter) {
  for (const std::string name : {"resnet18", "resnet50", "mobilenet_v2"}) {
    for (const std::string bn : {"train", "stats"}) {
      SCOPED_TRACE(name + ", " + bn);
      const auto net = make(name, {1, 32, bn});
      net->train();
      net->forward(random_normal({2, 1, 32, 32}, 1, at::kFloat))
          .map.sum()
          .backward();
      for (const auto& entry : net->named_parameters()) {
        EXPECT_TRUE(entry.value().grad().defined()) << entry.key();
      }
    }
  }
}

// The batch norm of a network that has trained is an affine map; folded or
// not, a network must give the same.
TEST(Backbones, KeptStatisticsGiveWhatEvaluationGives) {
  for (const std::string name :
       {"convnet", "resnet18", "mobilenet_v2", "googlenet", "bn_inception"}) {
    SCOPED_TRACE(name);
    torch::manual_seed(1);
    const auto trained = make(name, {3, 32, "train"});
    torch::manual_seed(1);
    const auto kept = make(name, {3, 32, "stats"});
    trained->eval();
    kept->train();
    const Tensor images = random_normal({2, 3, 32, 32}, 1, at::kFloat);
    const Tensor a = trained->forward(images).map;
    EXPECT_TRUE(torch::equal(a, kept->forward(images).map));
    trained->train();
    EXPECT_GT(max_difference(a, trained->forward(images).map), 1e-3);
  }
}

TEST(Backbones, ColourWeightsFitAGreyModel) {
  for (const auto& [name, first] :
       {std::pair("resnet18", "conv1.weight"),
        std::pair("mobilenet_v2", "features.0.0.weight"),
        std::pair("googlenet", "conv1.conv.weight"),
        std::pair("inception_v1", "conv1_7x7_s2.weight"),
        std::pair("bn_inception", "conv1_7x7_s2.weight")}) {
    const auto net = make(name, {1, 32, "train"});
    const Tensor weight = net->named_parameters()[first];
    NamedTensors file = {{first, torch::ones({weight.size(0), 3, weight.size(2),
                                              weight.size(3)})}};
    net->adapt_weights(file);
    EXPECT_EQ(file[0].second.sizes(), weight.sizes());
    EXPECT_EQ(file[0].second.min().item<float>(), 3);
  }
}

}  // namespace
}  // namespace kith
