#include "kith/study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/study/axes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;

const char* const kBase =
    "data: {name: glyphs, classes: 8, per_class: 4}\n"
    "eval: {metrics: ['recall_any@1,2', map_at_r, rho]}\n";

/// The study in a file with this section.
Study study_of(const std::string& section,
               const std::vector<std::string>& overrides = {}) {
  const TempDir folder;
  return load_study(
      folder.write("colours.yaml", kBase + ("study:\n" + section)), overrides);
}

template <class... Parts>
void expect_refused(const std::string& section, const Parts&... parts) {
  expect_error<ConfigError>([&] { study_of(section); }, parts...);
}

const char* const kTwoAxes =
    "  seeds: [3, 1]\n"
    "  axes:\n"
    "    - {name: t1, key: loss.t1, values: [0.1, 10]}\n"
    "    - name: SiMix\n"
    "      values: {without: {}, with: {loss: {simix: true}}}\n";

std::string value_at(const ConfigNode& config, const char* section,
                     const char* key) {
  const ConfigNode* map = config.find(section);
  const ConfigNode* node = map == nullptr ? nullptr : map->find(key);
  return node == nullptr ? "none" : node->scalar;
}

TEST(Study, EveryCombinationIsTrainedTheLastAxisFastestThenTheSeeds) {
  const Study study = study_of(kTwoAxes);
  EXPECT_EQ(study.name, "colours");
  EXPECT_EQ(study.title, "colours");
  std::vector<std::string> folders;
  for (const StudyRun& run : study_runs(study)) folders.push_back(run.folder);
  EXPECT_THAT(folders, ElementsAre("0.1/without/seed-3", "0.1/without/seed-1",
                                   "0.1/with/seed-3", "0.1/with/seed-1",
                                   "10/without/seed-3", "10/without/seed-1",
                                   "10/with/seed-3", "10/with/seed-1"));
  const StudyRun run = study_runs(study)[3];
  EXPECT_THAT(run.labels, ElementsAre("0.1", "with"));
  EXPECT_EQ(run.seed, 1);
  EXPECT_EQ(value_at(run.config, "loss", "t1"), "0.1");
  EXPECT_EQ(value_at(run.config, "loss", "simix"), "true");
  EXPECT_EQ(value_at(run.config, "train", "seed"), "1");
  EXPECT_FALSE(is_study(run.config));
}

TEST(Study, SkipsCombinations) {
  const Study one = study_of(kTwoAxes + std::string("  skip: [{t1: 10, "
                                                    "SiMix: with}]\n"));
  EXPECT_EQ(study_runs(one).size(), 6u);
  // An axis that is not named stands for all its values.
  const Study two = study_of(kTwoAxes + std::string("  skip: [{t1: 10}]\n"));
  EXPECT_EQ(study_runs(two).size(), 4u);
  expect_refused(kTwoAxes + std::string("  skip: [{t1: 10}, {t1: 0.1}]\n"),
                 "study.skip", "leaves no run");
}

TEST(Study, WithoutAxesThereIsOneCombination) {
  const Study study = study_of("  title: Ten seeds\n  seeds: [0, 1]\n");
  EXPECT_EQ(study.title, "Ten seeds");
  const std::vector<StudyRun> runs = study_runs(study);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].folder, "seed-1");
  EXPECT_TRUE(runs[1].labels.empty());
}

TEST(Study, LabelsAreTheTextOfValues) {
  const Study study = study_of(
      "  axes: [{key: loss.k, values: [[1, 2], [4], 'a b']}]\n"
      "  skip: [{loss.k: 'a b'}]\n");
  EXPECT_EQ(study.axes[0].name, "loss.k");
  EXPECT_EQ(study.axes[0].values[0].label, "1,2");
  EXPECT_EQ(folder_name("a b"), "a_b");
  EXPECT_EQ(folder_name("../x"), "_._x");
}

TEST(Study, AKeyMayHaveLabelsOfItsOwn) {
  const Study study = study_of(
      "  axes: [{name: ks, key: loss.k, values: {few: [1], many: [1, 8]}}]\n");
  const std::vector<StudyRun> runs = study_runs(study);
  EXPECT_EQ(runs[1].labels[0], "many");
  EXPECT_EQ(runs[1].config.find("loss")->find("k")->items.size(), 2u);
}

TEST(Study, OverridesComeBeforeTheAxes) {
  const Study study = study_of(kTwoAxes, {"train.epochs=3", "study.seeds=[7]"});
  const std::vector<StudyRun> runs = study_runs(study);
  EXPECT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].seed, 7);
  EXPECT_EQ(value_at(runs[0].config, "train", "epochs"), "3");
}

TEST(Study, OnlySomeRuns) {
  const Study study = study_of(kTwoAxes);
  EXPECT_EQ(select_runs(study, {}).size(), 8u);
  EXPECT_EQ(select_runs(study, {"with"}).size(), 4u);
  EXPECT_EQ(select_runs(study, {"with", "10"}).size(), 2u);
  EXPECT_EQ(select_runs(study, {"with", "without"}).size(), 8u);
  expect_error<ConfigError>([&] { select_runs(study, {"wit"}); },
                            "option 'only'", "'wit'", "with");
}

TEST(Study, ColumnsAreTheMetricsOfTheRuns) {
  EXPECT_THAT(study_of("  seeds: [0]\n").metrics,
              ElementsAre("recall_any@1", "recall_any@2", "map_at_r", "rho"));
  EXPECT_THAT(study_of("  metrics: [rho]\n").metrics, ElementsAre("rho"));
  expect_refused("  metrics: [nmi]\n", ".yaml:4", "'nmi'", "eval.metrics");
}

TEST(Study, FoldsHaveEachMetricTwice) {
  const Study study =
      study_of("  folds: 4\n  metrics: [map_at_r]\n", {"eval.every=1"});
  EXPECT_EQ(study.folds, 4);
  EXPECT_THAT(study.metrics,
              ElementsAre("separated/map_at_r", "concatenated/map_at_r"));
  expect_refused("  folds: 4\n", "train.folds", "eval.every");
}

TEST(Study, AveragesAreColumnsToo) {
  const Study study = study_of(
      "  metrics: [recall_any@1, recall_any@2]\n"
      "  averages: {Avg: [recall_any@1, recall_any@2]}\n"
      "  published: {source: A paper, rows: [{Avg: 90.5}]}\n");
  EXPECT_THAT(study.metrics,
              ElementsAre("recall_any@1", "recall_any@2", "Avg"));
  EXPECT_EQ(study.kind("Avg"), "recall_any@1");
  EXPECT_EQ(study.kind("rho"), "rho");
  EXPECT_EQ(published_row(study, {})->percent.at("Avg"), 90.5);
  expect_refused("  averages: {Avg: [nmi]}\n", ".yaml:4", "study.averages.Avg",
                 "'nmi'");
  expect_refused("  averages: {Avg: []}\n", "names no metric");
  expect_refused("  averages: [Avg]\n", "must map names");
  expect_refused("  averages: {rho: [map_at_r]}\n", "name of a metric");
}

TEST(Study, EvaluationsHaveMetricsOfTheirOwn) {
  const Study study = study_of(
      "  evaluations:\n"
      "    - {name: spoiled, corruptions: [jpeg, rotation]}\n"
      "    - {name: other, data: sets/a.yaml, bootstrap: 0, scales: [1, 0.5], "
      "whiten: pairs}\n"
      "  metrics: [rho, spoiled/jpeg/map_at_r, other/medium/map_trapezoid]\n"
      "  averages: {Both: [other/medium/map_trapezoid, other/map]}\n");
  ASSERT_EQ(study.evaluations.size(), 2u);
  EXPECT_THAT(
      study.evaluations[0].words("here"),
      ElementsAre("--corruptions", "jpeg,rotation", "--bootstrap", "1000"));
  EXPECT_THAT(study.evaluations[1].words("here"),
              ElementsAre("--data", "sets/a.yaml", "--scales", "1,0.5",
                          "--whiten", "pairs", "--bootstrap", "0"));
  EXPECT_EQ(study.evaluations[1].folder("out/seed-0"), "out/seed-0/eval/other");
  const auto refused = [](const std::string& list, const auto&... parts) {
    expect_refused("  evaluations: [" + list + "]\n", parts...);
  };
  refused("{corruptions: [all]}", ".yaml:4", "needs a 'name'");
  refused("{name: a/b}", "needs a 'name'", "'a/b'");
  refused("{name: a}, {name: a}", "have the name 'a'");
  refused("{name: a, corruptions: [jpg]}", "jpg", "jpeg");
  refused("{name: a, colour: b}", "study.evaluations.0.colour");
  expect_refused("  evaluations: [{name: a}]\n  metrics: [b/map_at_rr]\n",
                 "map_at_rr");
  expect_error<ConfigError>(
      [] {
        study_of("  folds: 4\n  evaluations: [{name: a}]\n", {"eval.every=1"});
      },
      "'folds' or 'evaluations'");
}

// Beside the study's file first, so that it may be called from anywhere.
TEST(StudyEvaluation, FindsDataBesideTheStudy) {
  const TempDir folder;
  folder.write("a.yaml", "");
  StudyEvaluation evaluation;
  evaluation.data = "a.yaml";
  evaluation.bootstrap = 0;
  EXPECT_THAT(evaluation.words(folder.path()),
              ElementsAre("--data", folder.file("a.yaml"), "--bootstrap", "0"));
}

TEST(Study, PublishedNumbersBelongToCombinations) {
  const Study study = study_of(
      kTwoAxes + std::string("  published:\n    source: A paper\n    rows:\n"
                             "      - {t1: 10, SiMix: with, recall_any@1: 88}\n"
                             "      - {SiMix: with, map_at_r: 7.5}\n"));
  EXPECT_EQ(study.published_source, "A paper");
  EXPECT_EQ(published_row(study, {"10", "with"})->percent.at("recall_any@1"),
            88);
  EXPECT_EQ(published_row(study, {"0.1", "with"})->percent.at("map_at_r"), 7.5);
  EXPECT_EQ(published_row(study, {"10", "without"}), nullptr);
}

TEST(Study, RefusesWhatIsNotThere) {
  const std::string axes = kTwoAxes;
  expect_refused(axes + "  skip: [{t2: 10}]\n", ".yaml:9", "axis", "'t2'",
                 "t1, SiMix");
  expect_refused(axes + "  skip: [{t1: 1}]\n", "value of the axis 't1'", "'1'");
  expect_refused(axes + "  skip: [10]\n", "study.skip", "{t1: label}");
  expect_refused(axes + "  skip: {t1: 10}\n", "'study.skip' must be a list");
  expect_refused(axes + "  published: {rows: [{colour: 3}]}\n",
                 "axis or metric", "'colour'");
  expect_refused(axes + "  published: {rows: [{SiMix: maybe}]}\n", "'maybe'");
  expect_refused(axes + "  published: {rows: [{map_at_r: 101}]}\n",
                 "study.published.rows.map_at_r", "100");
  expect_refused(axes + "  published: {rows: [7]}\n", "study.published.rows");
  expect_refused("  seed: [1]\n", ".yaml:4", "study.seed", "seeds");
  expect_refused("  seeds: [1, 2, 1]\n", "seed 1", "twice");
  expect_refused("  seeds: []\n", "study.seeds");
  expect_refused("  axes: {t1: 3}\n", "'study.axes' must be a list");
}

TEST(Study, RefusesAxesThatCannotBe) {
  expect_refused("  axes: [{name: t1, key: loss.t1}]\n", ".yaml:4",
                 "the axis 't1' has no values");
  expect_refused("  axes: [{name: t1, key: loss.t1, values: []}]\n",
                 "no values");
  expect_refused("  axes: [{values: [1]}]\n", "study.axes.0", "'name'");
  expect_refused("  axes: [{name: t1, key: loss.t1, values: [1, 2, 1]}]\n",
                 "the label '1' twice");
  expect_refused("  axes: [{name: t1, key: loss.t1, values: ['']}]\n",
                 "1 to 100 bytes");
  expect_refused(
      "  axes: [{name: a, key: loss.t1, values: {x y: 1, x_y: 2}}]\n",
      "would share the folder 'x_y'");
  expect_refused("  axes: [{name: a, values: [1, 2]}]\n", "without a 'key'",
                 "{with: {loss: {simix: true}}}");
  expect_refused("  axes: [{name: a, key: miner, values: [{name: x}]}]\n",
                 "has no label");
  expect_refused("  axes: [{name: a, keys: b, values: [1]}]\n",
                 "study.axes.0.keys", "key");
  expect_refused(
      "  axes: [{key: loss.t1, values: [1]}, {key: loss.t1, values: [2]}]\n",
      "two axes", "'loss.t1'");
}

TEST(Study, ARunThatIsNoConfigurationIsNamed) {
  expect_refused(
      "  axes:\n"
      "    - {name: loss, values: {good: {}, bad: {loss: {name: margn}}}}\n",
      ".yaml:5", "'margn'", "margin", "(in the run loss = bad)");
  expect_refused("  axes: [{name: t9, key: loss.t9, values: [1]}]\n",
                 "'loss.t9'", "(in the run t9 = 1)");
}

TEST(Study, IsNoStudyWithoutTheSection) {
  const TempDir folder;
  const std::string path = folder.write("plain.yaml", kBase);
  expect_error<ConfigError>([&] { load_study(path); }, "plain.yaml",
                            "no section 'study'", "kith train");
}

TEST(Study, HugeProductsAreRefused) {
  std::string axes = "  axes:\n";
  for (int a = 0; a < 30; ++a) {
    axes += "    - {name: a" + std::to_string(a) +
            ", key: loss.t1, values: [1, 2, 3]}\n";
  }
  expect_refused(axes, "combinations");
}

}  // namespace
}  // namespace kith
