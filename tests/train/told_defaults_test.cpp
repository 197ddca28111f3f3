#include "kith/train/told_defaults.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string told(const std::string& yaml) {
  return defaults_text(complete_config(
      parse_config("data: {name: glyphs}\n" + yaml, "run.yaml")));
}

TEST(ToldDefaults, AreWhatTheConfigurationLeavesOpen) {
  EXPECT_EQ(told(""),
            "from defaults: loss.name: recall_at_k; model.input.colour: grey; "
            "model.input.size: 64; model.head.l2: true; miner: none; augment: "
            "none; model.weights: none, so the network starts untrained");
  EXPECT_EQ(told("loss: {name: triplet}\naugment: [{name: flip}]\n"
                 "model: {input: {size: 32, colour: rgb}, head: {dim: 8}}"),
            "from defaults: model.head.l2: true; miner: distance_weighted; "
            "model.weights: none, so the network starts untrained");
}

TEST(ToldDefaults, AreNotWhatIsWritten) {
  EXPECT_EQ(told("loss: {name: contrastive}\naugment: []\nminer: null\n"
                 "model: {weights: \"\", input: {size: 32, colour: grey}, "
                 "head: {l2: true}}"),
            "");
  const RunConfig config =
      complete_config(parse_config("data: {name: glyphs}", "run.yaml"));
  EXPECT_EQ(defaults_text(complete_config(config.tree)), "");
}

TEST(ToldDefaults, AreNotWhatOtherLinesTell) {
  // What pretrained weights bring, and lengths that a loss asks for.
  const std::string text = told("loss: {name: npair}\nmodel: {weights: w.pth}");
  EXPECT_THAT(text, HasSubstr("model.input.size: 64"));
  EXPECT_THAT(text, Not(HasSubstr("augment")));
  EXPECT_THAT(text, Not(HasSubstr("weights")));
  EXPECT_THAT(text, Not(HasSubstr("l2")));
  EXPECT_THAT(told("train: {init_from: runs/a}"), Not(HasSubstr("weights")));
  EXPECT_THAT(told("model: {input: {long_side: 512}}"),
              Not(HasSubstr("input.size")));
}

}  // namespace
}  // namespace kith
