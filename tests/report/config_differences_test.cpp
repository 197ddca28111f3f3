#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/report/run_record.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<RunRecord> runs_with(const std::vector<std::string>& configs) {
  std::vector<RunRecord> runs(configs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].config = parse_config(configs[i], "config.yaml");
  }
  return runs;
}

TEST(ConfigLeaves, ListsAreOneValue) {
  const ConfigNode config = parse_config(
      "loss: {name: rsk, k: [1, 2]}\n"
      "augment: [{name: crop, size: 3}, {name: flip}]\n"
      "miner: ~\nempty: {}\nweights: \"\"\nquoted: \"1\"\n",
      "config.yaml");
  EXPECT_THAT(
      config_leaves(config),
      ElementsAre(Pair("loss.name", "rsk"), Pair("loss.k", "[1, 2]"),
                  Pair("augment", "[{name: crop, size: 3}, {name: flip}]"),
                  Pair("miner", "~"), Pair("empty", "{}"),
                  Pair("weights", "\"\""), Pair("quoted", "\"1\"")));
  EXPECT_THAT(config_leaves(ConfigNode()), IsEmpty());
}

TEST(ConfigDifferences, AreTheKeysWhoseValuesDiffer) {
  const auto differences =
      config_differences(runs_with({"a: 1\nb: {x: [1], y: 2}\nc: 3\n",
                                    "a: 1\nb: {x: [1, 2], y: 2}\nc: 4\n"}));
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].key, "b.x");
  EXPECT_THAT(differences[0].values, ElementsAre("[1]", "[1, 2]"));
  EXPECT_EQ(differences[1].key, "c");
}

std::vector<std::string> keys_of(
    const std::vector<ConfigDifference>& differences) {
  std::vector<std::string> keys;
  for (const ConfigDifference& one : differences) keys.push_back(one.key);
  return keys;
}

TEST(ConfigDifferences, AKeyOfOneRunStandsWithItsNeighbours) {
  const auto differences = config_differences(
      runs_with({"train: {epochs: 2, seed: 0}\n",
                 "train: {epochs: 2, folds: 4, seed: 1}\n"}));
  EXPECT_THAT(keys_of(differences), ElementsAre("train.folds", "train.seed"));
  EXPECT_THAT(differences[0].values, ElementsAre("", "4"));
}

TEST(ConfigDifferences, OptionsAreComparedAmongRunsThatUseThePart) {
  const auto differences = config_differences(
      runs_with({"loss: {name: rsk, k: 1, t: 1}\nmodel: {backbone: {name: a, "
                 "width: 3}, head: {dim: 8}}\nminer: ~\nseed: 0\n",
                 "loss: {name: triplet, margin: 2, t: 9}\nmodel: {backbone: "
                 "{name: b, width: 4}, head: {dim: 9}}\n"
                 "miner: {name: semihard, most: 3}\nseed: 1\n",
                 "loss: {name: rsk, k: 2, t: 1}\nmodel: {backbone: {name: a, "
                 "width: 3}, head: {dim: 8}}\nminer: ~\nseed: 2\n"}));
  EXPECT_THAT(keys_of(differences),
              ElementsAre("loss.name", "loss.k", "model.backbone.name",
                          "model.head.dim", "miner.name", "seed"));
  EXPECT_THAT(differences[1].values, ElementsAre("1", "", "2"));
}

TEST(ConfigDifferences, AnOptionThatARunOfThePartLacksDiffers) {
  EXPECT_THAT(
      keys_of(config_differences(runs_with(
          {"loss: {name: rsk}\n", "loss: {name: rsk, new_option: 1}\n"}))),
      ElementsAre("loss.new_option"));
}

TEST(ConfigDifferences, OneRunAndEqualRunsHaveNone) {
  EXPECT_THAT(config_differences({}), IsEmpty());
  EXPECT_THAT(config_differences(runs_with({"a: 1\n"})), IsEmpty());
  EXPECT_THAT(config_differences(runs_with({"a: 1\nb: 2\n", "b: 2\na: 1\n"})),
              IsEmpty());
}

}  // namespace
}  // namespace kith
