#include "kith/train/weights_config.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/train/run_config.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class WeightsConfigTest : public ::testing::Test {
 protected:
  WeightsConfigTest() {
    dir_.write("model.safetensors", "");
    dir_.write("config.json",
               R"({"architecture": "resnet18",
                   "pretrained_cfg": {"input_size": [3, 160, 160],
                     "crop_pct": 0.5, "interpolation": "bicubic",
                     "mean": [0.3, 0.6, 0.9], "std": [0.1, 0.2, 0.3]}})");
  }
  RunConfig complete(const std::string& model) {
    return complete_config(parse_config(
        "data: {name: glyphs}\nmodel: {weights: " + dir_.path() + model + "}",
        "run.yaml"));
  }
  static std::string input_of(const RunConfig& config, const char* key) {
    std::string text =
        to_yaml(*config.section("model").find("input")->find(key));
    text.pop_back();
    return text;
  }

  TempDir dir_;
};

TEST_F(WeightsConfigTest, ChoosesNetworkAndInput) {
  const RunConfig config = complete("");
  EXPECT_EQ(config.section("model").find("backbone")->find("name")->scalar,
            "resnet18");
  EXPECT_EQ(input_of(config, "size"), "160");
  EXPECT_EQ(input_of(config, "resize"), "320");
  EXPECT_EQ(input_of(config, "filter"), "bicubic");
  EXPECT_EQ(input_of(config, "colour"), "rgb");
  EXPECT_EQ(input_of(config, "mean"), "[0.3, 0.6, 0.9]");
  EXPECT_THAT(config.weights_config,
              AllOf(HasSubstr("took model.backbone: resnet18"),
                    HasSubstr("model.input.size: 160"),
                    HasSubstr("from " + dir_.file("config.json")),
                    HasSubstr("does not say otherwise")));
  // The crop of training has the size that was taken.
  EXPECT_EQ(config.section("augment").items[0].find("size")->scalar, "160");
}

TEST_F(WeightsConfigTest, LeavesWhatTheUserSays) {
  const RunConfig config = complete(
      ", backbone: {name: convnet}, input: {size: 64, colour: grey, std: [2]}");
  EXPECT_EQ(config.section("model").find("backbone")->find("name")->scalar,
            "convnet");
  EXPECT_EQ(input_of(config, "size"), "64");
  EXPECT_EQ(input_of(config, "resize"), "0");
  EXPECT_EQ(input_of(config, "mean"), "[0.6]");  // of the channels
  EXPECT_EQ(input_of(config, "std"), "[2]");
  const RunConfig bgr = complete(", input: {colour: bgr}");
  EXPECT_EQ(input_of(bgr, "mean"), "[0.9, 0.6, 0.3]");
}

// A run goes on where the folder is gone.
TEST_F(WeightsConfigTest, ACompleteConfigurationIsNotLookedUp) {
  const RunConfig config = complete("");
  dir_.write("config.json", "broken");
  const RunConfig again = complete_config(config.tree);
  EXPECT_EQ(to_yaml(again.tree), to_yaml(config.tree));
  EXPECT_EQ(again.weights_config, "");
}

}  // namespace
}  // namespace kith
