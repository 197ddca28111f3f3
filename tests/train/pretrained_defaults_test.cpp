#include "kith/train/pretrained_defaults.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ConfigNode written(const std::string& yaml) {
  return parse_config("data: {name: glyphs}\n" + yaml, "run.yaml");
}

RunConfig with_weights(const std::string& yaml) {
  return complete_config(written(yaml));
}

std::string option_of(const RunConfig& config, const char* section,
                      const char* key) {
  return config.section(section).find(key)->scalar;
}

TEST(PretrainedDefaults, AreTakenWhereNothingIsSaid) {
  const RunConfig config =
      with_weights("model: {weights: w.pth, input: {size: 96, colour: rgb}}");
  EXPECT_THAT(config.pretrained_defaults,
              ElementsAre("augment", "optimizer.name", "optimizer.lr",
                          "model.input.mean", "model.input.std"));
  const std::vector<ConfigNode>& steps = config.section("augment").items;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].find("name")->scalar, "random_resized_crop");
  EXPECT_EQ(steps[0].find("size")->scalar, "96");
  EXPECT_EQ(steps[0].find("scale")->items[0].scalar, "0.16");
  EXPECT_EQ(steps[1].find("name")->scalar, "flip");
  EXPECT_EQ(option_of(config, "optimizer", "name"), "adamw");
  EXPECT_EQ(std::stod(option_of(config, "optimizer", "lr")), 1e-4);
  const std::string text = pretrained_defaults_text(config);
  for (const char* part :
       {"took augment: random_resized_crop and flip", "optimizer.name: adamw",
        "optimizer.lr: ", "model.input.mean: [0.485, 0.456, 0.406]",
        "because the network starts from pretrained weights"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(PretrainedDefaults, AreOnlyForPretrainedWeights) {
  const RunConfig config = with_weights("model: {input: {colour: rgb}}");
  EXPECT_THAT(config.pretrained_defaults, IsEmpty());
  EXPECT_EQ(pretrained_defaults_text(config), "");
  EXPECT_THAT(config.section("augment").items, IsEmpty());
  EXPECT_EQ(option_of(config, "optimizer", "name"), "adam");
  EXPECT_EQ(std::stod(option_of(config, "optimizer", "lr")), 1e-3);
  EXPECT_THAT(with_weights("model: {weights: \"\"}").pretrained_defaults,
              IsEmpty());
  EXPECT_THAT(with_weights("train: {init_from: a}").pretrained_defaults,
              IsEmpty());
}

TEST(PretrainedDefaults, LeaveWhatIsSaid) {
  for (const char* none : {"augment: []\n", "augment: ~\n"}) {
    const RunConfig config =
        with_weights(std::string(none) + "model: {weights: w.pth}");
    EXPECT_THAT(config.section("augment").items, IsEmpty());
    EXPECT_THAT(pretrained_defaults_text(config), Not(HasSubstr("augment")));
  }
  const RunConfig sgd =
      with_weights("model: {weights: w.pth}\noptimizer: {name: sgd}");
  EXPECT_EQ(option_of(sgd, "optimizer", "name"), "sgd");
  EXPECT_EQ(std::stod(option_of(sgd, "optimizer", "lr")), 0.1);
  const RunConfig rate =
      with_weights("model: {weights: w.pth}\noptimizer: {lr: 0.003}");
  EXPECT_EQ(option_of(rate, "optimizer", "name"), "adamw");
  EXPECT_EQ(option_of(rate, "optimizer", "lr"), "0.003");
  const RunConfig adam =
      with_weights("model: {weights: w.pth}\noptimizer: {name: adam}");
  EXPECT_EQ(option_of(adam, "optimizer", "name"), "adam");
  EXPECT_EQ(std::stod(option_of(adam, "optimizer", "lr")), 1e-4);
}

TEST(PretrainedDefaults, KeepTheShapeOfPictures) {
  const RunConfig config = with_weights(
      "model: {weights: w.pth, input: {long_side: 512, colour: rgb}}");
  EXPECT_THAT(config.section("augment").items, IsEmpty());
  EXPECT_THAT(config.pretrained_defaults, Not(Contains("augment")));
  EXPECT_EQ(option_of(config, "optimizer", "name"), "adamw");
}

TEST(PretrainedDefaults, AreThoseOfTheNetworkToo) {
  const std::string backbone = "backbone: {name: vit_base_patch16_clip_224}";
  const RunConfig config = with_weights(
      "model: {weights: w.pth, input: {colour: rgb}, " + backbone + "}");
  const ConfigNode& model = config.section("model");
  EXPECT_EQ(model.find("backbone")->find("name")->scalar, "openclip_vit_b_16");
  EXPECT_EQ(model.find("input")->find("size")->scalar, "224");
  EXPECT_EQ(model.find("input")->find("filter")->scalar, "bicubic");
  EXPECT_EQ(model.find("input")->find("mean")->items[0].scalar, "0.48145466");
  EXPECT_EQ(model.find("head")->find("pooling")->scalar, "class_token");
  EXPECT_EQ(config.section("augment").items[0].find("size")->scalar, "224");
  const std::string text = pretrained_defaults_text(config);
  for (const char* part :
       {"model.input.size: 224", "model.input.filter: bicubic",
        "model.head.pooling: class_token"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const RunConfig said = with_weights(
      "model: {weights: w.pth, input: {colour: rgb, size: 112, filter: "
      "bilinear}, head: {pooling: gem}, " +
      backbone + "}");
  EXPECT_EQ(said.section("model").find("input")->find("size")->scalar, "112");
  EXPECT_EQ(said.section("model").find("head")->find("pooling")->scalar, "gem");
  EXPECT_THAT(pretrained_defaults_text(said), Not(HasSubstr("pooling")));
  // Without weights nothing is taken.
  const RunConfig none = with_weights("model: {" + backbone + "}");
  EXPECT_EQ(none.section("model").find("head")->find("pooling")->scalar, "gem");
  // A run that was begun with others goes on with them.
  ConfigNode user = written("model: {weights: w.pth, " + backbone + "}");
  keep_begun_defaults(said.tree, user);
  const RunConfig kept = complete_config(user);
  EXPECT_EQ(kept.section("model").find("input")->find("size")->scalar, "112");
  EXPECT_EQ(kept.section("model").find("head")->find("pooling")->scalar, "gem");
}

TEST(PretrainedDefaults, AreNotTakenFromAWholeConfiguration) {
  const RunConfig config = with_weights(
      "augment: []\noptimizer: {name: adam, lr: 0.001}\n"
      "model: {weights: w.pth, input: {colour: rgb}}");
  const RunConfig again = complete_config(config.tree);
  EXPECT_EQ(to_yaml(again.tree), to_yaml(config.tree));
  EXPECT_THAT(again.pretrained_defaults, IsEmpty());
}

TEST(PretrainedDefaults, AreThoseThatARunWasBegunWith) {
  const RunConfig begun = with_weights(
      "augment: []\noptimizer: {name: adam, lr: 0.001}\n"
      "model: {weights: w.pth, input: {colour: rgb}}");
  ConfigNode user = written("model: {weights: w.pth, input: {colour: rgb}}");
  keep_begun_defaults(begun.tree, user);
  EXPECT_EQ(to_yaml(complete_config(user).tree), to_yaml(begun.tree));
  ConfigNode other = written(
      "model: {weights: w.pth, input: {colour: rgb}}\n"
      "augment: [{name: flip}]\noptimizer: {lr: 0.5}");
  keep_begun_defaults(begun.tree, other);
  const RunConfig kept = complete_config(other);
  EXPECT_EQ(option_of(kept, "optimizer", "name"), "adam");
  EXPECT_EQ(option_of(kept, "optimizer", "lr"), "0.5");
  EXPECT_EQ(kept.section("augment").items.size(), 1u);
}

}  // namespace
}  // namespace kith
