#include "kith/models/published_network.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/options.h"
#include "kith/models/published_config.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ConfigNode read_small(const PublishedConfig& config) {
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text("convnet"));
  section.set("width", ConfigNode::text(
                           std::to_string(config.integer("hidden_size", 64))));
  return section;
}

[[maybe_unused]] const bool small_added =
    add_published_reader("test_small", read_small) &&
    add_published_reader("test_pair_vision_model", read_small);

class PublishedNetworkTest : public ::testing::Test {
 protected:
  PublishedNetwork read(const std::string& config,
                        const std::string& preprocessing = "",
                        const std::string& user = "{}") {
    WeightFiles files;
    if (!config.empty()) files.config = dir_.write("config.json", config);
    if (!preprocessing.empty()) {
      files.preprocessing =
          dir_.write("preprocessor_config.json", preprocessing);
    }
    return describe_published(files, parse_config(user, "user"));
  }
  /// YAML of the input that a preprocessor_config.json describes.
  std::string input(const std::string& preprocessing,
                    const std::string& user = "{}") {
    return to_yaml(read("", preprocessing, user).input);
  }
  template <class... Parts>
  void refuse(const std::string& config, const std::string& preprocessing,
              const Parts&... parts) {
    expect_error<DataError>([&] { read(config, preprocessing); }, parts...);
  }

  TempDir dir_;
};

TEST_F(PublishedNetworkTest, IsThatOfItsModelType) {
  const PublishedNetwork network = read(
      R"({"model_type": "test_small", "hidden_size": 8, "image_size": 32})");
  EXPECT_EQ(to_yaml(network.backbone), "name: convnet\nwidth: 8\n");
  EXPECT_EQ(to_yaml(network.input), "size: 32\n");
}

TEST_F(PublishedNetworkTest, OfOneWithTextIsThePartAboutPictures) {
  const PublishedNetwork network = read(
      R"({"model_type": "test_pair", "text_config": {"hidden_size": 3},
          "vision_config": {"hidden_size": 9, "image_size": [24, 24]}})");
  EXPECT_EQ(to_yaml(network.backbone), "name: convnet\nwidth: 9\n");
  EXPECT_EQ(to_yaml(network.input), "size: 24\n");
}

TEST_F(PublishedNetworkTest, OfTimmHasItsName) {
  const PublishedNetwork network = read(
      R"({"architecture": "resnet50.a1_in1k", "num_classes": 1000,
          "pretrained_cfg": {"input_size": [3, 224, 224], "crop_pct": 0.95,
            "interpolation": "bicubic", "mean": [0.1, 0.2, 0.3],
            "std": [0.4, 0.5, 0.6], "crop_mode": "center"}})");
  EXPECT_EQ(to_yaml(network.backbone), "name: resnet50\n");
  EXPECT_EQ(to_yaml(network.input),
            "size: 224\nresize: 235\nfilter: bicubic\nmean: [0.1, 0.2, 0.3]\n"
            "std: [0.4, 0.5, 0.6]\n");
}

// What `kith export --huggingface` writes beside timm's keys.
TEST_F(PublishedNetworkTest, OfKithIsTheSectionThatItWrote) {
  const PublishedNetwork network = read(
      R"({"architecture": "convnext_tiny", "model_args": {"norm_eps": 0.1},
          "pretrained_cfg": {"input_size": [1, 32, 32]},
          "kith": {"backbone": {"name": "dinov3_convnext_tiny", "eps": 0.1,
                                "depths": [1, 2]}}})");
  EXPECT_EQ(to_yaml(network.backbone),
            "name: dinov3_convnext_tiny\neps: 0.1\ndepths: [1, 2]\n");
  EXPECT_EQ(to_yaml(network.input), "size: 32\nresize: 36\ncolour: grey\n");
  EXPECT_EQ(
      to_yaml(read(R"({"architecture": "resnet18", "kith": 3})").backbone),
      "name: resnet18\n");
}

// Where others have another network under the same name.
TEST_F(PublishedNetworkTest, OfTimmIsTheNetworkOfTimm) {
  EXPECT_EQ(to_yaml(read(R"({"architecture": "efficientnet_b5"})").backbone),
            "name: efficientnet_b5\nbn_eps: 1e-05\nbn_momentum: 0.1\n");
  EXPECT_EQ(to_yaml(read(R"({"architecture": "efficientnet_b4"})").backbone),
            "name: efficientnet_b4\n");
  EXPECT_EQ(to_yaml(read(R"({"architecture": "efficientnetv2_s"})").backbone),
            "name: efficientnetv2_s\nbn_eps: 1e-05\nbn_momentum: 0.1\n");
  EXPECT_EQ(
      to_yaml(read(R"({"architecture": "vit_base_patch16_siglip_224.webli"})")
                  .backbone),
      "name: vit_base_patch16_siglip_224\nactivation: gelu\n");
  for (const char* name :
       {"vit_small_patch16_224.dino", "vit_small_patch14_dinov2.lvd142m"}) {
    const std::string folder =
        R"({"architecture": ")" + std::string(name) + R"("})";
    EXPECT_THAT(to_yaml(read(folder).backbone),
                HasSubstr("interpolation: antialias\n"));
  }
  EXPECT_THAT(
      to_yaml(read(R"({"architecture": "vit_small_patch14_reg4_dinov2"})")
                  .backbone),
      Not(HasSubstr("interpolation")));
}

// What timm.create_model(NAME, num_classes=0) saves.
TEST_F(PublishedNetworkTest, OfTimmWithoutClassesHasNoProjection) {
  const auto without = [&](const std::string& name) {
    return to_yaml(
        read(R"({"architecture": ")" + name + R"(", "num_classes": 0})")
            .backbone);
  };
  EXPECT_EQ(without("vit_base_patch16_clip_224"),
            "name: vit_base_patch16_clip_224\nprojection: 0\n");
  EXPECT_EQ(without("resnet50"), "name: resnet50\n");
  EXPECT_EQ(without("vit_base_patch16_224"), "name: vit_base_patch16_224\n");
}

TEST_F(PublishedNetworkTest, TheUsersOwnWordsCount) {
  const std::string timm =
      R"({"architecture": "nobody_knows",
          "pretrained_cfg": {"input_size": [3, 224, 220],
                             "interpolation": "lanczos"}})";
  const PublishedNetwork network =
      read(timm, "",
           "{backbone: {name: resnet18}, input: {size: 96, filter: bicubic}}");
  EXPECT_EQ(network.backbone.kind, ConfigNode::Kind::kNull);
  EXPECT_EQ(to_yaml(network.input), "{}\n");
  refuse(timm, "", "config.json", "'architecture'", "nobody_knows");
  // A size of another goes with none of theirs.
  EXPECT_EQ(input(R"({"size": {"shortest_edge": 256}, "crop_size": 224})",
                  "{input: {long_side: 1024}}"),
            "{}\n");
  EXPECT_EQ(input(R"({"size": {"shortest_edge": 256}, "crop_size": 224})",
                  "{input: {resize: 300}}"),
            "size: 224\n");
}

TEST_F(PublishedNetworkTest, SizesAreThoseOfThePreprocessing) {
  // CLIP, DINOv2.
  EXPECT_EQ(input(R"({"size": {"shortest_edge": 256}, "do_center_crop": true,
                      "crop_size": {"height": 224, "width": 224}})"),
            "size: 224\nresize: 256\n");
  // CLIP as it was written once.
  EXPECT_EQ(input(R"({"size": 224, "do_center_crop": true, "crop_size": 224})"),
            "size: 224\nresize: 224\n");
  // ViT, SigLIP: whatever the shape.
  EXPECT_EQ(input(R"({"size": {"height": 224, "width": 224}})"),
            "size: 224\nresize: 0\n");
  EXPECT_EQ(input(R"({"size": 224})"), "size: 224\nresize: 0\n");
  // ConvNeXt: 224 / 0.875 first, but not from 384 pixels on.
  EXPECT_EQ(input(R"({"size": {"shortest_edge": 224}, "crop_pct": 0.875})"),
            "size: 224\nresize: 256\n");
  EXPECT_EQ(input(R"({"size": {"shortest_edge": 384}, "crop_pct": 0.875})"),
            "size: 384\nresize: 0\n");
  EXPECT_EQ(input(R"({"size": 224, "do_resize": false})"), "{}\n");
}

TEST_F(PublishedNetworkTest, FiltersAreThoseOfPillow) {
  EXPECT_EQ(input(R"({"resample": 2})"), "filter: bilinear\n");
  EXPECT_EQ(input(R"({"resample": 3})"), "filter: bicubic\n");
  refuse("", R"({"resample": 1})", "preprocessor_config.json",
         "'resample' is 1", "model.input.filter");
}

TEST_F(PublishedNetworkTest, ScalesAreOfValuesUpToOne) {
  const std::string usual =
      R"("image_mean": [0.5, 0.25, 0], "image_std": [0.5, 1, 2])";
  EXPECT_EQ(input("{" + usual + "}"),
            "mean: [0.5, 0.25, 0.0]\nstd: [0.5, 1.0, 2.0]\n");
  EXPECT_EQ(input("{" + usual + R"(, "do_normalize": false})"),
            "mean: [0.0, 0.0, 0.0]\nstd: [1.0, 1.0, 1.0]\n");
  // Bytes go in as they are.
  EXPECT_EQ(input(R"({"image_mean": [51, 0, 0], "image_std": [51, 255, 510],
                      "do_rescale": false})"),
            "mean: [0.2, 0.0, 0.0]\nstd: [0.2, 1.0, 2.0]\n");
  // x / 127.5 - 1, then the usual.
  const PublishedNetwork offset =
      read("", "{" + usual +
                   R"(, "rescale_factor": 0.00784313725490196,
                 "rescale_offset": true})");
  const ConfigNode& mean = *offset.input.find("mean");
  const ConfigNode& std = *offset.input.find("std");
  for (const double x : {0.0, 0.3, 1.0}) {
    for (const size_t i : {0u, 1u, 2u}) {
      const double m[] = {0.5, 0.25, 0}, s[] = {0.5, 1, 2};
      EXPECT_NEAR((x - std::stod(mean.items[i].scalar)) /
                      std::stod(std.items[i].scalar),
                  (x * 2 - 1 - m[i]) / s[i], 1e-12);
    }
  }
  // EfficientNet's divides twice.
  EXPECT_EQ(input("{" + usual + R"(, "include_top": true})"),
            "mean: [0.5, 0.25, 0.0]\nstd: [0.25, 1.0, 4.0]\n");
}

TEST_F(PublishedNetworkTest, WhatIsWrongIsNamed) {
  refuse("[]", "", "config.json: not a JSON object");
  refuse("{", "", "config.json: not JSON");
  refuse(R"({"model_type": "test_nobody"})", "",
         "'model_type' is 'test_nobody'", "test_small");
  refuse(R"({"model_type": 3})", "", "'model_type' must be a text");
  refuse(R"({"model_type": "test_small", "hidden_size": "x"})", "",
         "'hidden_size' must be a whole number");
  refuse(R"({"architecture": "resnet50", "model_args": {"in_chans": 1}})", "",
         "'model_args'", "in_chans", "model.backbone");
  refuse("", R"({"size": {"height": 224, "width": 200}})", "'size'",
         "square pictures");
  refuse("", R"({"size": {"shortest_edge": "x"}})", "'size'");
  refuse("", R"({"image_mean": [0.5], "image_std": [0.5, 0.5]})",
         "different lengths");
  refuse("", R"({"image_mean": "x"})", "'image_mean' must be a list");
  refuse("", R"({"rescale_factor": 0})", "'rescale_factor'");
}

}  // namespace
}  // namespace kith
