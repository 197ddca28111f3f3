#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/models/published_config.h"
#include "kith/models/vit_shapes.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

ConfigNode read(const std::string& model_type, const std::string& json) {
  static const std::string path = "folder/config.json";
  const auto object = nlohmann::ordered_json::parse(json);
  return read_published(model_type, PublishedConfig(path, object));
}

VitOptions options_of(const ConfigNode& section) {
  return read_options<VitOptions>(section, "model.backbone", {"name"});
}

std::string name_of(const ConfigNode& section) {
  return section.find("name")->scalar;
}

/// What is known of the network of this name.
VitOptions known(const std::string& name) {
  for (const VitShape& shape : vit_shapes()) {
    if (shape.name == name) return shape.options;
  }
  ADD_FAILURE() << name;
  return {};
}

/// Equal but for what says how it is trained, and for details of the library.
void expect_known(const ConfigNode& section, const std::string& name) {
  EXPECT_EQ(name_of(section), name);
  const VitOptions read = options_of(section);
  VitOptions other = known(name);
  if (other.grid == 0) other.grid = read.grid;
  other.norm_eps = read.norm_eps;
  other.layer_scale = read.layer_scale;
  other.interpolation = read.interpolation;
  EXPECT_EQ(to_yaml(write_options(read)), to_yaml(write_options(other)));
}

// As the files of the published networks have them.
TEST(VitConfigs, ArePublishedNetworks) {
  expect_known(read("vit", R"({"hidden_size": 768, "patch_size": 16})"),
               "vit_b_16");
  expect_known(read("deit", R"({"hidden_size": 768})"), "deit_b_16_distilled");
  expect_known(read("dinov2", R"({"hidden_size": 384, "num_attention_heads": 6,
        "image_size": 518, "layerscale_value": 1.0, "patch_size": 14})"),
               "dinov2_vits14");
  expect_known(
      read("dinov2", R"({"hidden_size": 1536, "num_attention_heads": 24,
        "num_hidden_layers": 40, "image_size": 518, "patch_size": 14,
        "use_swiglu_ffn": true, "mlp_ratio": 4})"),
      "dinov2_vitg14");
  expect_known(
      read("dinov2_with_registers", R"({"hidden_size": 768, "image_size": 518,
        "patch_size": 14, "num_register_tokens": 4})"),
      "dinov2_vitb14_reg");
  expect_known(read("dinov3_vit", R"({"num_register_tokens": 4})"),
               "dinov3_vits16");
  expect_known(
      read("dinov3_vit", R"({"num_register_tokens": 4, "use_gated_mlp": true,
        "hidden_act": "silu", "hidden_size": 384})"),
      "dinov3_vits16plus");
  expect_known(read("clip_vision_model", "{}"), "clip_vit_b_32");
  expect_known(
      read("clip_vision_model", R"({"patch_size": 16, "hidden_act": "gelu"})"),
      "openclip_vit_b_16");
  expect_known(read("siglip_vision_model", "{}"), "siglip_vit_b_16_224");
  expect_known(
      read("siglip_vision_model", R"({"hidden_size": 1152, "patch_size": 14,
        "intermediate_size": 4304, "num_hidden_layers": 27,
        "num_attention_heads": 16, "image_size": 384})"),
      "siglip_so400m_14_378");
}

TEST(VitConfigs, OfAnotherShapeAreAVit) {
  const ConfigNode section =
      read("vit", R"({"hidden_size": 24, "num_attention_heads": 3,
        "num_hidden_layers": 2, "intermediate_size": 48, "patch_size": [8, 8],
        "image_size": [32, 32], "qkv_bias": false, "layer_norm_eps": 1e-12})");
  EXPECT_EQ(name_of(section), "vit");
  const VitOptions options = options_of(section);
  EXPECT_EQ(options.width, 24);
  EXPECT_EQ(options.hidden, 48);
  EXPECT_EQ(options.patch, 8);
  EXPECT_EQ(options.grid, 4);
  EXPECT_EQ(options.qkv_bias, "none");
  EXPECT_EQ(options.norm_eps, 1e-12);
  EXPECT_EQ(options.interpolation, "plain");
}

TEST(VitConfigs, OfClipHaveAProjectionUnlessTheyAreAlone) {
  EXPECT_EQ(options_of(read("clip_vision_model", "{}")).projection, 512);
  EXPECT_EQ(options_of(read("clip_vision_model",
                            R"({"architectures": ["CLIPVisionModel"]})"))
                .projection,
            0);
  EXPECT_EQ(
      options_of(read("siglip_vision_model", R"({"vision_use_head": false})"))
          .token,
      "class");
}

TEST(VitConfigs, WhatKithHasNotIsAnError) {
  const auto refused = [](const char* type, const char* json,
                          const auto&... parts) {
    expect_error<DataError>([&] { read(type, json); }, "folder/config.json",
                            parts...);
  };
  refused("vit", R"({"hidden_act": "relu"})", "'hidden_act' is 'relu'",
          "quick_gelu");
  refused("vit", R"({"hidden_size": "768"})", "'hidden_size'", "whole number");
  refused("vit", R"({"hidden_size": -1})", "width");
  refused("vit", R"({"patch_size": 0})", "'patch_size'");
  refused("vit", R"({"patch_size": [16, 8]})", "'patch_size'", "one number");
  refused("vit", R"({"image_size": [224, 112]})", "'image_size'");
  refused("dinov3_vit", R"({"mlp_bias": false})", "'mlp_bias' is false");
  refused("dinov3_vit", R"({"query_bias": false})", "'query_bias'");
  refused("dinov3_vit", R"({"use_gated_mlp": true})", "'hidden_act'", "silu");
  refused("dinov2", R"({"mlp_ratio": 1e300})", "hidden");
}

}  // namespace
}  // namespace kith
