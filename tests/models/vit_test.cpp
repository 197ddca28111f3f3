#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/embedding_net.h"
#include "kith/models/vision_transformer.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

VitOptions small() {
  return {.patch = 4, .width = 12, .depth = 2, .heads = 3, .hidden = 8};
}

BackboneInput pictures(int64_t size, int64_t channels = 3) {
  return {channels, size, "train"};
}

Tensor picture(int64_t height, int64_t width, uint64_t seed = 1) {
  return random_normal({2, 3, height, width}, seed, at::kFloat);
}

TEST(VisionTransformer, GivesAMapOfPatchesAndATokenAfterTheLastNorm) {
  VisionTransformer net(small(), pictures(12));
  const Features out = net.forward(picture(12, 12));
  EXPECT_EQ(out.map.sizes(), (std::vector<int64_t>{2, 12, 3, 3}));
  EXPECT_EQ(out.token.sizes(), (std::vector<int64_t>{2, 12}));
  EXPECT_LE(max_difference(out.token.mean(1), torch::zeros({2})), 1e-6);
  EXPECT_LE(max_difference(out.map.mean(1), torch::zeros({2, 3, 3})), 1e-6);
}

// A change of one patch must show most at its own place of the map if blocks
// do nothing.
TEST(VisionTransformer, APatchStandsAtItsPlaceInTheMap) {
  VitOptions options = small();
  options.registers = 2;
  VisionTransformer net(options, pictures(12));
  const torch::NoGradGuard no_grad;
  for (auto& entry : net.named_parameters()) {
    if (entry.key().find("attn.proj") != std::string::npos ||
        entry.key().find("mlp.fc2") != std::string::npos) {
      entry.value().zero_();
    }
  }
  const Tensor a = picture(12, 20);
  Tensor b = a.clone();
  b.slice(2, 4, 8).slice(3, 8, 12).add_(
      random_normal({2, 3, 4, 4}, 2, at::kFloat));
  const Tensor change =
      (net.forward(a).map - net.forward(b).map).abs().amax({0, 1});
  Tensor expected = torch::zeros({3, 5}, torch::kBool);
  expected[1][2] = true;
  EXPECT_TRUE(torch::equal(change > 1e-4, expected)) << change;
}

void expect_all_trained(const VitOptions& options) {
  VisionTransformer net(options, pictures(8));
  const Features out = net.forward(picture(12, 8));
  Tensor loss = out.map.square().select(1, 0).sum();
  if (out.token.defined()) {
    loss = loss + out.token.square().select(1, 0).sum();
  }
  loss.backward();
  for (const auto& entry : net.named_parameters()) {
    ASSERT_TRUE(entry.value().grad().defined()) << entry.key();
    EXPECT_TRUE(torch::isfinite(entry.value().grad()).all().item<bool>());
  }
}

TEST(VisionTransformer, IsTrainedThroughTokenAndMap) {
  VitOptions options = small();
  expect_all_trained(options);
  options.registers = 2;
  options.prefix_positions = false;
  options.mlp = "swiglu";
  options.layer_scale = 0.1;
  options.drop_path = 0.2;
  expect_all_trained(options);
  options.positions = "rotary";
  options.qkv_bias = "no_key";
  expect_all_trained(options);
  options = small();
  options.class_token = false;
  options.token = "attention_pool";
  expect_all_trained(options);
  options = small();
  options.projection = 5;
  options.pre_norm = true;
  expect_all_trained(options);
}

TEST(VisionTransformer, DropoutWorksInTrainingOnly) {
  for (const char* kind : {"dropout", "drop_path"}) {
    VitOptions options = small();
    (kind == std::string("dropout") ? options.dropout : options.drop_path) =
        0.5;
    VisionTransformer net(options, pictures(8));
    const Tensor images = picture(8, 8).repeat({8, 1, 1, 1});
    EXPECT_FALSE(
        torch::equal(net.forward(images).token, net.forward(images).token));
    torch::manual_seed(3);
    const Tensor once = net.forward(images).token;
    torch::manual_seed(3);
    EXPECT_TRUE(torch::equal(net.forward(images).token, once));
    net.eval();
    EXPECT_TRUE(
        torch::equal(net.forward(images).token, net.forward(images).token));
  }
}

// The last block drops half of what each of its two parts adds, picture by
// picture: equal pictures have four results.
TEST(VisionTransformer, DropPathIsOfWholePictures) {
  VitOptions options = small();
  options.depth = 2;
  options.drop_path = 0.5;
  VisionTransformer net(options, pictures(8));
  const Tensor images = picture(8, 8).slice(0, 0, 1).repeat({64, 1, 1, 1});
  const Tensor tokens = net.forward(images).token;
  std::vector<Tensor> results;
  for (const Tensor& token : tokens.unbind()) {
    const bool is_new =
        std::all_of(results.begin(), results.end(), [&](const Tensor& other) {
          return max_difference(token, other) > 1e-3;
        });
    if (is_new) results.push_back(token);
  }
  EXPECT_EQ(results.size(), 4u);
}

TEST(VisionTransformer, TakesPicturesOfAnyPatches) {
  VitOptions options = small();
  options.grid = 3;
  VisionTransformer net(options, pictures(64));
  EXPECT_EQ(net.fixed_size(), "");
  EXPECT_EQ(net.multiple(), 4);
  EXPECT_EQ(net.named_parameters()["pos_embed"].size(1), 1 + 9);
  const Features out = net.forward(picture(4, 24));
  EXPECT_EQ(out.map.sizes(), (std::vector<int64_t>{2, 12, 1, 6}));
  EXPECT_THROW(net.forward(picture(10, 8)), c10::ValueError);
  EXPECT_THROW(net.forward(picture(8, 2)), c10::ValueError);
}

TEST(VisionTransformer, RefusesSizesThatPatchesDoNotFill) {
  expect_error<ConfigError>([] { VisionTransformer(small(), pictures(10)); },
                            "model.input.size", "multiple of the 4 pixels",
                            "got 10");
  expect_error<ConfigError>([] { VisionTransformer(small(), pictures(2)); },
                            "model.input.size");
  const auto net_of = [](const std::string& input) {
    EmbeddingNet(complete_model(parse_config(
        "{backbone: {name: vit, patch: 14, width: 4, depth: 1, heads: 1, "
        "hidden: 4, grid: 2}, input: {" +
            input + "}}",
        "test")));
  };
  net_of("size: 28");
  net_of("long_side: 84, multiple: 28");
  expect_error<ConfigError>([&] { net_of("size: 64"); }, "'model.input.size'",
                            "multiple of the 14 pixels", "take 56");
  expect_error<ConfigError>([&] { net_of("long_side: 64"); },
                            "'model.input.multiple'", "got 32: take 28");
}

TEST(VisionTransformer, RefusesOptionsThatDoNotFit) {
  const auto refused = [](const std::string& options, const char* key) {
    expect_error<ConfigError>(
        [&] {
          ConfigNode node = parse_config(
              "{name: vit, patch: 4, width: 12, heads: 3, depth: 1, hidden: 4}",
              "test");
          merge_config(node, parse_config("{" + options + "}", "test"));
          backbone_registry().make(node, "model.backbone", pictures(8));
        },
        key);
  };
  refused("heads: 5", "'model.backbone.heads' must divide");
  refused("heads: 6, positions: rotary", "'model.backbone.positions'");
  refused("token: attention_pool, projection: 3",
          "'model.backbone.projection'");
  refused("token: joined", "'model.backbone.token' is joined");
  refused("token: joined, projection: 3", "class token");
  refused("patch: 0", "'model.backbone.patch'");
}

TEST(VisionTransformer, OfAllPatchesJoinedHasOneSize) {
  VitOptions options = small();
  options.class_token = false;
  options.token = "joined";
  options.projection = 5;
  VisionTransformer net(options, pictures(8));
  EXPECT_NE(net.fixed_size(), "");
  EXPECT_EQ(net.features(), 5);
  const Features out = net.forward(picture(8, 8));
  EXPECT_EQ(out.map.sizes(), (std::vector<int64_t>{2, 5, 1, 1}));
  EXPECT_TRUE(torch::equal(out.map.flatten(1), out.token));
  EXPECT_THROW(net.forward(picture(8, 12)), c10::ValueError);
}

TEST(VisionTransformer, WithoutAClassTokenHasAMapAlone) {
  VitOptions options = small();
  options.class_token = false;
  VisionTransformer net(options, pictures(8));
  EXPECT_FALSE(net.has_token());
  EXPECT_FALSE(net.forward(picture(8, 8)).token.defined());
}

/// Of networks that are small enough to be made here.
TEST(VisionTransformer, KnownNamesHaveThePublishedSizes) {
  for (const auto& [name, features, parameters] :
       {std::tuple("vit_tiny_patch16_224", 192, 5'524'416),
        std::tuple("deit_small_patch16_224", 384, 21'665'664),
        std::tuple("deit3_small_patch16_224", 384, 21'674'496),
        std::tuple("dino_vits16", 384, 21'665'664),
        std::tuple("dinov2_vits14", 384, 22'056'192),
        std::tuple("vit_small_patch14_reg4_dinov2", 384, 22'057'344),
        std::tuple("dinov3_vits16", 384, 21'600'768),
        std::tuple("dinov3_vits16plus", 384, 28'697'088)}) {
    SCOPED_TRACE(name);
    const auto net = backbone_registry().make(
        parse_config("{name: " + std::string(name) + "}", "test"),
        "model.backbone", pictures(224));
    EXPECT_EQ(net->features(), features);
    int64_t count = 0;
    for (const Tensor& tensor : net->parameters()) count += tensor.numel();
    EXPECT_EQ(count, parameters);
  }
}

}  // namespace
}  // namespace kith
