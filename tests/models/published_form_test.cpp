// Backbones as the networks of timm and torchvision.

#include "kith/models/published_form.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"
#include "kith/models/weights.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

ConfigNode complete(const std::string& section) {
  return backbone_registry().complete(parse_config(section, "test"),
                                      "model.backbone");
}

/// "timm efficientnet_b5 bn_eps=0.001", or empty if there is none.
std::string name_of(const std::string& section) {
  try {
    const PublishedName found = published_name(complete(section));
    std::string text = found.library + " " + found.name;
    for (const auto& [key, value] : found.arguments.entries) {
      text += " " + key + "=" + value.scalar;
    }
    return text;
  } catch (const ConfigError&) {
    return "";
  }
}

TEST(PublishedName, IsThatOfTimmOrOfTorchvision) {
  EXPECT_EQ(name_of("{name: resnet50}"), "timm resnet50");
  EXPECT_EQ(name_of("{name: regnet_y_400mf}"), "timm regnety_004");
  EXPECT_EQ(name_of("{name: regnety_002}"), "timm regnety_002");
  EXPECT_EQ(name_of("{name: vit_b_16}"), "timm vit_base_patch16_224");
  EXPECT_EQ(name_of("{name: clip_vit_b_32}"),
            "timm vit_base_patch32_clip_quickgelu_224");
  EXPECT_EQ(name_of("{name: dinov3_vits16}"),
            "timm vit_small_patch16_dinov3_qkvb");
  EXPECT_EQ(name_of("{name: dinov3_vit7b16}"), "timm vit_7b_patch16_dinov3");
  EXPECT_EQ(name_of("{name: convnext_v2_atto}"),
            "timm convnextv2_atto conv_mlp=false");
  EXPECT_EQ(name_of("{name: dinov3_convnext_tiny}"),
            "timm convnext_tiny conv_mlp=false");
  EXPECT_EQ(name_of("{name: mobilenet_v2}"), "torchvision mobilenet_v2");
  EXPECT_EQ(name_of("{name: mobilenet_v3}"), "torchvision mobilenet_v3_large");
  EXPECT_EQ(name_of("{name: googlenet}"), "torchvision googlenet");
}

TEST(PublishedName, SaysInWhatTimmsNetworkIsMadeOtherwise) {
  EXPECT_EQ(name_of("{name: efficientnet_b4}"), "timm efficientnet_b4");
  EXPECT_EQ(name_of("{name: efficientnet_b5}"),
            "timm efficientnet_b5 bn_eps=0.001");
  EXPECT_EQ(name_of("{name: efficientnet_b5, bn_eps: 0.00001}"),
            "timm efficientnet_b5");
  EXPECT_EQ(name_of("{name: efficientnet_v2_s}"),
            "timm efficientnetv2_s bn_eps=0.001");
  EXPECT_EQ(name_of("{name: siglip_vit_b_16_224}"),
            "timm vit_base_patch16_siglip_224 act_layer=gelu_tanh");
  EXPECT_EQ(name_of("{name: siglip_vit_b_16_224, activation: gelu}"),
            "timm vit_base_patch16_siglip_224");
  EXPECT_EQ(name_of("{name: convnext_tiny, eps: 1e-5, last_eps: 1e-5}"),
            "timm convnext_tiny conv_mlp=false norm_eps=1e-05");
  EXPECT_EQ(name_of("{name: convnext_tiny, last_eps: 1e-5}"), "");
  EXPECT_EQ(name_of("{name: convnext_tiny, eps: 1e-5}"), "");
}

TEST(PublishedName, IsFoundByWhatTheNetworkComputes) {
  // Under another name, and with what matters in training alone.
  EXPECT_EQ(name_of("{name: resnet, block: basic, depths: [2, 2, 2, 2]}"),
            "timm resnet18");
  EXPECT_EQ(name_of("{name: vit, drop_path: 0.2, dropout: 0.1}"),
            "timm vit_base_patch16_224");
  EXPECT_EQ(name_of("{name: convnext_tiny, layer_scale: 0.1}"),
            "timm convnext_tiny conv_mlp=false");
  EXPECT_EQ(name_of("{name: convnext_tiny, layer_scale: 0}"), "");
  // A projection is timm's classifier.
  EXPECT_EQ(name_of("{name: clip_vit_b_32, projection: 0}"),
            "timm vit_base_patch32_clip_quickgelu_224");
  // Positions are resized on the way.
  EXPECT_EQ(name_of("{name: dinov2_vits14, grid: 16, interpolation: plain}"),
            "timm vit_small_patch14_dinov2");
}

TEST(PublishedName, IsThereForAllBackbonesButThese) {
  std::set<std::string> none;
  for (const auto& [name, entry] : backbone_registry().entries()) {
    if (name_of("{name: " + name + "}").empty()) none.insert(name);
  }
  EXPECT_EQ(none,
            (std::set<std::string>{
                "bn_inception", "convnet", "inception_v1", "mlp",
                // timm's have a layer more.
                "mobilenetv3_large_100", "mobilenetv3_small_100",
                "tf_mobilenetv3_large_100", "tf_mobilenetv3_small_100",
                "resnet50_caffe", "resnet50_keras", "unicom_vit_b_16",
                "unicom_vit_b_32", "unicom_vit_l_14", "unicom_vit_l_14_336"}));
}

TEST(PublishedName, OfWhatNobodyHasIsAnErrorThatSaysWhy) {
  expect_error<ConfigError>(
      [] { published_name(complete("{name: bn_inception}")); },
      "neither timm nor torchvision has the backbone 'bn_inception'",
      "without option 'huggingface'", "'onnx'");
  expect_error<ConfigError>(
      [] { published_name(complete("{name: resnet50_keras}")); },
      "this 'resnet50_keras'", "timm's resnet50, which is nearest",
      "'stride' (1x1, there 3x3)");
  expect_error<ConfigError>(
      [] { published_name(complete("{name: vit_b_16, norm_eps: 1e-12}")); },
      "timm's vit_base_patch16_224", "'norm_eps' (1e-12, there 1e-06)");
  expect_error<ConfigError>(
      [] { published_name(complete("{name: tf_mobilenetv3_large_100}")); },
      "torchvision's mobilenet_v3_large", "'padding' (same, there symmetric)");
}

/// The network of this name, but narrow and with few blocks.
ConfigNode small_section(const std::string& name) {
  ConfigNode section = complete("{name: " + name + "}");
  const auto list = [&](const char* key, const std::string& value) {
    section.set(key, parse_config(value, "test"));
  };
  const auto set = [&](const char* key, const std::string& value) {
    section.set(key, ConfigNode::text(value));
  };
  const auto has = [&](const char* key) { return section.find(key); };
  if (has("heads")) {
    for (const char* key : {"depth", "heads"}) set(key, "2");
    set("width", "32");
    set("hidden", "48");
    if (has("grid")->scalar != "0") set("grid", "3");
    if (has("projection")->scalar != "0") set("projection", "24");
  } else if (has("inner")) {
    return section;  // MobileNetV3 is small.
  } else if (has("expand")) {
    const size_t stages = has("depths")->items.size();
    for (ConfigNode& depth : section.find("depths")->items) depth.scalar = "1";
    section.find("depths")->items[1].scalar = "2";
    for (ConfigNode& width : section.find("widths")->items) width.scalar = "8";
    KITH_ASSERT(stages > 1);
    set("stem", "8");
    set("last", "16");
  } else if (has("depths")) {
    list("depths", "[1, 2, 1, 1]");
    list("widths", "[16, 16, 32, 32]");
    if (has("stem")) set("stem", "8");
    if (has("group_width")) set("group_width", "8");
    if (has("groups") && has("groups")->scalar != "1") set("groups", "2");
  }
  return section;
}

NamedTensors state_of(const Backbone& net) {
  NamedTensors state;
  for (const auto& entry : net.named_parameters()) {
    state.emplace_back(entry.key(), entry.value().detach());
  }
  for (const auto& entry : net.named_buffers()) {
    state.emplace_back(entry.key(), entry.value());
  }
  return state;
}

std::map<std::string, Tensor> by_name(const NamedTensors& tensors) {
  return {tensors.begin(), tensors.end()};
}

/// Every weight another number, but the bias of a key, which is no weight.
void fill(Backbone& net, bool has_key_bias) {
  const torch::NoGradGuard no_grad;
  uint64_t seed = 0;
  for (auto& [name, tensor] : state_of(net)) {
    if (!tensor.is_floating_point()) continue;
    Tensor(tensor).copy_(random_normal(tensor.sizes().vec(), ++seed));
    if (!has_key_bias && name.ends_with("attn.qkv.bias")) {
      Tensor(tensor).view({3, -1})[1].zero_();
    }
  }
}

TEST(PublishedWeights, AreReadBackToTheSameBits) {
  for (const auto& [name, entry] : backbone_registry().entries()) {
    SCOPED_TRACE(name);
    if (name_of("{name: " + name + "}").empty()) continue;
    const ConfigNode section = small_section(name);
    const ConfigNode* patch = section.find("patch");
    const bool is_vit = section.find("heads") != nullptr;
    const int64_t size = is_vit ? 3 * std::stoll(patch->scalar) : 64;
    for (const int64_t channels : {3, 1}) {
      const auto net = backbone_registry().make(section, "model.backbone",
                                                {channels, size, "train"});
      const ConfigNode* bias = section.find("qkv_bias");
      fill(*net, bias == nullptr || bias->scalar != "no_key");
      NamedTensors weights = state_of(*net);
      const auto expected = by_name(weights);
      net->publish_weights(weights, size);
      EXPECT_EQ(by_name(weights).size(), weights.size());  // no name twice
      net->adapt_weights(weights);
      auto found = by_name(weights);
      found.erase("head.bias");  // of CLIP's projection: zeros
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [key, tensor] : expected) {
        ASSERT_TRUE(found.contains(key)) << key;
        EXPECT_TRUE(same_bits(found.at(key).contiguous(), tensor.contiguous()))
            << key;
      }
    }
  }
}

std::vector<std::string> published_keys(const std::string& name) {
  const auto net = backbone_registry().make(small_section(name),
                                            "model.backbone", {3, 96, "train"});
  NamedTensors weights = state_of(*net);
  net->publish_weights(weights, 96);
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : weights) keys.push_back(key);
  return keys;
}

TEST(PublishedWeights, HaveTimmsNames) {
  EXPECT_THAT(published_keys("efficientnet_b0"),
              IsSupersetOf({"conv_stem.weight", "bn1.running_mean",
                            "blocks.0.0.conv_dw.weight",
                            "blocks.1.1.se.conv_reduce.bias",
                            "conv_head.weight", "bn2.num_batches_tracked"}));
  EXPECT_THAT(
      published_keys("regnet_y_400mf"),
      IsSupersetOf({"stem.conv.weight", "s2.b2.conv2.bn.weight",
                    "s1.b1.downsample.conv.weight", "s4.b1.se.fc2.bias"}));
  EXPECT_THAT(published_keys("convnext_tiny"),
              IsSupersetOf({"stem.0.weight", "stages.1.downsample.1.weight",
                            "stages.1.blocks.1.conv_dw.weight",
                            "stages.0.blocks.0.gamma", "head.norm.weight"}));
  EXPECT_THAT(published_keys("convnext_v2_tiny"),
              Contains("stages.3.blocks.0.mlp.grn.weight"));
  EXPECT_THAT(published_keys("deit_ti_16_distilled"),
              AllOf(Contains("dist_token"), Not(Contains("reg_token"))));
  EXPECT_THAT(published_keys("clip_vit_b_32"),
              IsSupersetOf({"head.weight", "head.bias", "norm_pre.weight",
                            "blocks.1.attn.qkv.bias"}));
  EXPECT_THAT(
      published_keys("dinov3_vits16plus"),
      AllOf(IsSupersetOf(
                {"reg_token", "blocks.0.attn.q_bias", "blocks.0.attn.v_bias",
                 "blocks.1.gamma_2", "blocks.1.mlp.fc1_g.weight",
                 "blocks.0.mlp.fc1_x.bias", "blocks.0.mlp.fc2.weight"}),
            Not(Contains("blocks.0.attn.k_bias"))));
}

TEST(PublishedForm, HasPositionsForItsPictures) {
  for (const std::string how : {"plain", "offset", "antialias"}) {
    SCOPED_TRACE(how);
    torch::manual_seed(2);
    EmbeddingNet net(complete_model(
        parse_config("{input: {size: 70}, backbone: {name: dinov2_vits14, "
                     "depth: 12, grid: 3, interpolation: " +
                         how + "}, head: {dim: 0, pooling: class_token}}",
                     "test"),
        "rgb"));
    net.eval();
    const PublishedForm form = published_form(net);
    EXPECT_TRUE(form.has_positions);
    EXPECT_EQ(form.backbone.find("grid")->scalar, "5");
    EXPECT_EQ(by_name(form.weights).at("pos_embed").sizes(),
              (std::vector<int64_t>{1, 26, 384}));
    ConfigNode section = net.section();
    section.set("backbone", form.backbone);
    EmbeddingNet again(section);
    again.eval();
    NamedTensors weights = form.weights;
    again.backbone().adapt_weights(weights);
    const WeightReport report =
        copy_weights("test", weights, state_of(again.backbone()));
    EXPECT_TRUE(report.missing.empty() && report.mismatched.empty());
    const torch::NoGradGuard no_grad;
    const Tensor images = random_normal({2, 3, 70, 70}, 4, at::kFloat);
    EXPECT_LE(max_difference(again.forward(images), net.forward(images)), 1e-6);
  }
}

TEST(PublishedForm, OfAUsersOwnNetworkIsThereNone) {
  class Own final : public torch::nn::Module {
   public:
    Own() : layer_(register_module("layer", torch::nn::Linear(12, 2))) {}
    Tensor forward(const Tensor& x) { return layer_(x.flatten(1)); }

   private:
    torch::nn::Linear layer_;
  };
  EmbeddingNet net({.size = 2, .colour = "rgb"}, std::make_shared<Own>());
  expect_error<ConfigError>([&] { published_form(net); }, "your own", "'onnx'");
}

}  // namespace
}  // namespace kith
