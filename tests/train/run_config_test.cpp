#include "kith/train/run_config.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

RunConfig complete(const std::string& yaml) {
  return complete_config(parse_config(yaml, "run.yaml"));
}

template <typename... Parts>
void expect_refused(const std::string& yaml, const Parts&... parts) {
  expect_error<ConfigError>([&] { complete(yaml); }, parts...);
}

std::string value_at(const ConfigNode& tree, const char* section,
                     const char* key) {
  return tree.find(section)->find(key)->scalar;
}

TEST(RunConfig, FillsInDefaults) {
  const RunConfig config = complete("data: {name: glyphs}");
  const ConfigNode& tree = config.tree;
  EXPECT_EQ(value_at(tree, "sampler", "name"), "class_balanced");
  EXPECT_EQ(value_at(tree, "loss", "name"), "recall_at_k");
  EXPECT_EQ(value_at(tree, "loss", "t2"), "0.01");
  EXPECT_EQ(value_at(tree, "optimizer", "name"), "adam");
  EXPECT_EQ(value_at(tree, "schedule", "name"), "constant");
  EXPECT_EQ(value_at(tree, "train", "epochs"), "10");
  EXPECT_EQ(value_at(tree, "eval", "best"), "recall_any@1");
  EXPECT_EQ(tree.find("miner")->kind, ConfigNode::Kind::kNull);
  EXPECT_EQ(tree.find("augment")->items.size(), 0u);
  EXPECT_EQ(config.train.epochs, 10);
  EXPECT_EQ(&config.section("loss"), tree.find("loss"));
}

TEST(RunConfig, NothingIsEvaluatedBeforeARunWithoutEvaluations) {
  EXPECT_TRUE(complete("data: {name: glyphs}").eval.before);
  EXPECT_FALSE(
      complete("data: {name: glyphs}\neval: {split: none}").eval.before);
  expect_refused("data: {name: glyphs}\neval: {split: none,\n  before: true}",
                 "run.yaml:3", "'eval.before'", "'eval.split'");
}

TEST(RunConfig, EmptySectionsMeanDefaults) {
  EXPECT_EQ(to_yaml(complete("data: {name: glyphs}").tree),
            to_yaml(complete("data: {name: glyphs}\nloss:\nminer:\naugment:\n"
                             "train:\nmodel: {}\nlog: {}")
                        .tree));
}

TEST(RunConfig, KeepsWhatTheUserSaid) {
  const RunConfig config = complete(R"(
data: {name: glyphs, classes: 12}
augment: [{name: affine}]
loss: {name: contrastive, neg_margin: 0.5}
miner: {name: random}
schedule: {name: step, milestones: [2, 4]}
train: {epochs: 3, clip_norm: 1.5}
eval: {metrics: ["precision@1,2"], best: precision@2}
)");
  EXPECT_EQ(value_at(config.tree, "data", "classes"), "12");
  EXPECT_EQ(value_at(config.tree, "loss", "neg_margin"), "0.5");
  EXPECT_EQ(value_at(config.tree, "miner", "name"), "random");
  EXPECT_EQ(config.train.clip_norm, 1.5);
  EXPECT_EQ(config.eval.best, "precision@2");
  EXPECT_EQ(config.tree.find("augment")->items[0].find("name")->scalar,
            "affine");
}

TEST(RunConfig, CompletingACompletedConfigChangesNothing) {
  for (const char* yaml :
       {"data: {name: glyphs}",
        "data: {name: csv, path: \"a: b.csv\"}\nloss: {name: contrastive}\n"
        "miner: {name: random}\naugment: [{name: affine}, {name: affine}]\n"
        "optimizer: {name: sgd, lr: 1.0e-5}\nschedule: {name: cosine}\n"
        "model: {head: {layer_norm: none}, input: {colour: rgb, "
        "mean: [0, 0, 0], std: [1, 1, 1]}}"}) {
    const std::string once = to_yaml(complete(yaml).tree);
    EXPECT_EQ(to_yaml(complete(once).tree), once);
  }
}

TEST(RunConfig, UnknownSectionsKeysAndNamesComeWithTheNearestAndTheLine) {
  expect_refused("data: {name: glyphs}\nlos: {name: contrastive}", "run.yaml:2",
                 "'los'", "did you mean 'loss'?");
  expect_refused("data: {name: glyphs}\nloss:\n  name: recal_at_k",
                 "run.yaml:3", "unknown loss 'recal_at_k'",
                 "did you mean 'recall_at_k'?");
  expect_refused("data: {name: glyphs}\nloss:\n  name: recall_at_k\n  t3: 1",
                 "run.yaml:4", "'loss.t3'", "did you mean 't1'?");
  expect_refused("data: {name: glyphs}\ntrain:\n  epoch: 3", "run.yaml:3",
                 "'train.epoch'", "did you mean 'epochs'?");
  expect_refused("data: {name: glyphs}\nmodel:\n  head:\n    dims: 3",
                 "run.yaml:4", "'model.head.dims'", "did you mean 'dim'?");
  expect_refused("data: {name: glyphs}\naugment:\n  - name: afine",
                 "run.yaml:3", "did you mean 'affine'?");
  expect_refused("data: {name: glyphs}\nminer: {name: rando}", "run.yaml:2",
                 "did you mean 'random'?");
}

TEST(RunConfig, WrongTypesAndRanges) {
  expect_refused("data: {name: glyphs}\ntrain:\n  epochs: many", "run.yaml:3",
                 "'train.epochs'", "int", "'many'");
  expect_refused("data: {name: glyphs}\ntrain: {epochs: 0}", "run.yaml:2",
                 "at least 1");
  expect_refused("data: {name: glyphs}\naugment: {name: affine}", "run.yaml:2",
                 "'augment' must be a list");
  expect_refused("data: {name: glyphs}\nloss: contrastive", "run.yaml:2",
                 "'loss' needs a 'name'");
  expect_refused("data: {name: glyphs}\ntrain: [1]", "run.yaml:2", "'train'",
                 "map");
  expect_refused("[1, 2]", "map");
}

TEST(RunConfig, NeedsData) {
  expect_refused("train: {epochs: 2}", "'data' needs a 'name'", "glyphs");
}

TEST(RunConfig, ChecksMetricsAndProtocol) {
  expect_refused("data: {name: glyphs}\neval:\n  metrics: [recall_ani@1]",
                 "run.yaml:3", "did you mean 'recall_any'?");
  expect_refused("data: {name: glyphs}\neval:\n  best: recall_any@3",
                 "run.yaml:3", "eval.best", "recall_any@3");
  expect_refused("data: {name: glyphs}\neval: {protocol: standart}",
                 "run.yaml:2", "did you mean 'standard'?");
  expect_refused("data: {name: glyphs}\neval: {metrics: []}", "run.yaml:2",
                 "empty");
}

TEST(RunConfig, TakesAMetricThatCanChoose) {
  const auto best = [](const std::string& eval) {
    return complete("data: {name: glyphs}\neval: " + eval).eval.best;
  };
  EXPECT_EQ(best("{metrics: [spectrum, rho, intra, recall_any@8]}"), "intra");
  EXPECT_EQ(best("{metrics: [spectrum, \"recall_any@8,1\"]}"), "recall_any@1");
  EXPECT_EQ(best("{metrics: [rho, map], best: map}"), "map");
  for (const char* none : {"spectrum", "rho"}) {
    expect_refused(
        "data: {name: glyphs}\neval:\n  metrics: [spectrum, rho, "
        "map, intra]\n  best: " +
            std::string(none),
        "run.yaml:4", none, "eval.best", "map, intra");
  }
  expect_refused("data: {name: glyphs}\neval:\n  metrics: [spectrum, rho]",
                 "run.yaml:3", "eval.metrics", "eval.best", "recall_any@1");
  // Nothing is chosen then.
  const RunConfig config = complete(
      "data: {name: glyphs}\neval: {split: none, metrics: [spectrum]}");
  EXPECT_EQ(to_yaml(complete(to_yaml(config.tree)).tree), to_yaml(config.tree));
}

TEST(RunConfig, KeepsPublishedNumbers) {
  const RunConfig config = complete(R"(
data: {name: glyphs}
published: {recall_any@2: 88.3, source: "A paper, Table 2", map_at_r: 7}
)");
  EXPECT_EQ(config.published_source, "A paper, Table 2");
  const std::vector<std::pair<std::string, double>> numbers = {
      {"recall_any@2", 88.3}, {"map_at_r", 7}};
  EXPECT_EQ(config.published, numbers);
  const std::string once = to_yaml(config.tree);
  EXPECT_EQ(to_yaml(complete(once).tree), once);
  EXPECT_EQ(complete(once).published, numbers);
  for (const char* none : {"", "published:\n", "published: {}\n"}) {
    const RunConfig without =
        complete("data: {name: glyphs}\n" + std::string(none));
    EXPECT_TRUE(without.published.empty());
    EXPECT_EQ(without.tree.find("published"), nullptr);
  }
}

TEST(RunConfig, TakesTheProtocolOfTheDataSet) {
  const auto protocol = [](const std::string& yaml) {
    return complete(yaml).eval.protocol;
  };
  EXPECT_EQ(protocol("data: {name: glyphs}"), "standard");
  EXPECT_EQ(protocol("data: {name: inshop, path: x}"), "inshop");
  EXPECT_EQ(protocol("data: {name: vehicleid, path: x}\neval:"), "vehicleid");
  EXPECT_EQ(protocol("data: {name: vehicleid, path: x}\n"
                     "eval: {protocol: vehicleid_reid}"),
            "vehicleid_reid");
  EXPECT_EQ(protocol("data: {name: inshop, path: x}\n"
                     "eval: {protocol: standard}"),
            "standard");
  const RunConfig revisited = complete("data: {name: revisited, path: x}");
  EXPECT_EQ(revisited.eval.protocol, "revisited");
  EXPECT_EQ(revisited.eval.best, "map_trapezoid");
  EXPECT_EQ(complete("data: {name: inaturalist, path: x}").eval.metrics[0],
            "recall_any@1,4,16,32");
}

TEST(RunConfig, ChecksPublishedNumbers) {
  const std::string start = "data: {name: glyphs}\npublished:\n  ";
  expect_refused(start + "recall_ani@1: 80", "run.yaml:3",
                 "did you mean 'recall_any'?");
  expect_refused(start + "recall_any@1,2: 80", "run.yaml:3",
                 "'published.recall_any@1,2' must be one metric");
  expect_refused(start + "recall_any@01: 80", "run.yaml:3", "one metric");
  expect_refused(start + "recall_any@1: 100.5", "run.yaml:3",
                 "'published.recall_any@1'", "in [0, 100]");
  expect_refused(start + "recall_any@1: high", "run.yaml:3", "float");
  expect_refused("data: {name: glyphs}\npublished: 80.7", "run.yaml:2",
                 "'published'", "map");
}

TEST(RunConfig, FoldsNeedWhatChoosesAnEpoch) {
  const std::string start = "data: {name: glyphs}\neval: {every: 1}\ntrain: ";
  const RunConfig config =
      complete_config(parse_config(start + "{folds: 4, fold: 4}", "run.yaml"));
  EXPECT_TRUE(config.train.holds_out());
  expect_refused(start + "{folds: 4, fold: 5}", "run.yaml:3", "'train.fold'",
                 "'train.folds' is 4");
  expect_refused(start + "{fold: 2}", "run.yaml:3", "'train.folds' is 0");
  expect_refused(start + "{folds: 1}", "run.yaml:3", "at least 2");
  expect_refused(start + "{folds: 2, validation: 0.5}", "run.yaml:3",
                 "'train.validation'");
  expect_refused("data: {name: glyphs}\ntrain: {folds: 2}", "run.yaml:2",
                 "'train.folds'", "eval.every");
}

TEST(RunConfig, IsNoStudy) {
  expect_refused("data: {name: glyphs}\nstudy: {seeds: [1]}", "run.yaml:2",
                 "study", "kith sweep");
}

TEST(EvalSplit, AutoPrefersValidation) {
  ImageList list;
  list.items.resize(2);
  list.items[1].split = Split::kTest;
  EvalOptions options;
  EXPECT_EQ(eval_split(options, list), Split::kTest);
  list.items[0].split = Split::kValidation;
  EXPECT_EQ(eval_split(options, list), Split::kValidation);
  options.split = "train";
  EXPECT_EQ(eval_split(options, list), Split::kTrain);
}

}  // namespace
}  // namespace kith
