#include "kith/study/search.h"

#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/study/tasks.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

SearchSpace space_of(const std::string& yaml) {
  return read_search_space(parse_config(yaml, "s.yaml"));
}

TEST(SearchSpace, AGridTriesEveryCombinationTheLastKeyFastest) {
  const auto trials = search_trials(
      space_of("{method: grid, space: {a: [1, 2], b.c: [x, y, z]}}"));
  ASSERT_EQ(trials.size(), 6u);
  EXPECT_EQ(describe_values(trials[0]), "a = 1, b.c = x");
  EXPECT_EQ(describe_values(trials[1]), "a = 1, b.c = y");
  EXPECT_EQ(describe_values(trials[5]), "a = 2, b.c = z");
}

TEST(SearchSpace, RandomValuesStayInTheirRangeAndRepeat) {
  const SearchSpace space = space_of(
      "{trials: 200, seed: 5, space: {lr: {from: 1e-5, to: 1e-3, scale: log},"
      " m: {from: -1, to: 1}, k: [1, 2, 4]}}");
  const auto trials = search_trials(space);
  ASSERT_EQ(trials.size(), 200u);
  int below = 0;
  for (const TrialValues& values : trials) {
    const double lr = std::stod(values[0].second.scalar);
    EXPECT_GE(lr, 0.999e-5);
    EXPECT_LE(lr, 1.001e-3);
    below += lr < 1e-4;
    EXPECT_LE(std::abs(std::stod(values[1].second.scalar)), 1);
  }
  // Half of them lie below the geometric middle.
  EXPECT_NEAR(below, 100, 30);

  SearchSpace more = space;
  more.trials = 300;
  EXPECT_EQ(describe_values(search_trials(more)[150]),
            describe_values(trials[150]));
  more.seed = 6;
  EXPECT_NE(describe_values(search_trials(more)[150]),
            describe_values(trials[150]));
}

TEST(SearchSpace, RefusesWhatCannotBeSearched) {
  const auto refused = [](const std::string& yaml, const auto&... parts) {
    expect_error<ConfigError>([&] { space_of(yaml); }, parts...);
  };
  refused("{method: grid}", "s.yaml:1", "study.search.space");
  refused("{space: {}}", "study.search.space", "a map from keys");
  refused("{space: {a: 3}}", "study.search.space.a", "a list of values");
  refused("{space: {a: []}}", "study.search.space.a");
  refused("{space: {a: {from: 2, to: 1}}}", "'from' below 'to'");
  refused("{space: {a: {from: 2}}}", "'from' below 'to'");
  refused("{space: {a: {from: 0, to: 1, scale: log}}}", "greater than 0");
  refused("{space: {a: {from: 0, to: 1, scale: lag}}}", "log");
  refused("{method: grid, space: {a: {from: 0, to: 1}}}", "a grid needs",
          "'a'");
  refused("{method: grid, trials: 3, space: {a: [1]}}", "trials");
  refused("{metod: grid, space: {a: [1]}}", "study.search.metod", "method");
}

/// A study with a search of three values of t1.
class Search : public ::testing::Test {
 protected:
  Study load(const std::string& more = "") const {
    return load_study(
        folder_.write("s.yaml",
                      "data: {name: glyphs, classes: 8, per_class: 4}\n"
                      "train: {validation: 0.5, epochs: 9}\n"
                      "eval: {every: 1, metrics: [recall_any@1, map_at_r]}\n"
                      "study:\n"
                      "  seeds: [4]\n"
                      "  search: {method: grid, metric: map_at_r, seed: 2, "
                      "space: {loss.t1: [0.5, 1, 2]}}\n" +
                          more));
  }

  /// What a trial leaves behind.
  void finish(int trial, const std::string& value, int epoch,
              const std::string& split = "validation") const {
    const std::string place = "out/search/trial-" + std::to_string(trial);
    std::filesystem::create_directories(folder_.file(place));
    folder_.write(place + "/metrics.json",
                  R"({"split": ")" + split + R"(", "best": {"value": )" +
                      value + R"(, "epoch": )" + std::to_string(epoch) + "}}");
  }

  const TempDir folder_;
};

TEST_F(Search, ATrialTrainsOnPartOfTheClassesAlone) {
  const Study study = load();
  const std::vector<Trial> trials = trials_of(study, study_runs(study)[0]);
  ASSERT_EQ(trials.size(), 3u);
  EXPECT_EQ(trials[2].folder, "search/trial-3");
  const auto at = [&](const char* section, const char* key) {
    return trials[2].trainings.at(0).config.find(section)->find(key)->scalar;
  };
  EXPECT_EQ(at("loss", "t1"), "2");
  EXPECT_EQ(at("train", "final"), "false");
  EXPECT_EQ(at("train", "seed"), "2");
  EXPECT_EQ(at("train", "validation"), "0.5");
  EXPECT_EQ(at("eval", "best"), "map_at_r");
}

TEST_F(Search, WaitsForAllTrialsAndTakesTheBest) {
  const Study study = load();
  const StudyRun run = study_runs(study)[0];
  const std::string out = folder_.file("out");
  finish(1, "0.25", 3);
  finish(3, "0.5", 9);
  EXPECT_FALSE(search_result(study, run, out).ended);
  finish(2, "0.5", 7);
  const SearchResult search = search_result(study, run, out);
  EXPECT_TRUE(search.ended);
  ASSERT_EQ(search.best, 1);  // the first of equal ones

  const ConfigNode config = chosen_config(run, search);
  EXPECT_EQ(config.find("loss")->find("t1")->scalar, "1");
  EXPECT_EQ(config.find("train")->find("stop_epoch")->scalar, "7");
  EXPECT_EQ(config.find("train")->find("epochs")->scalar, "9");
  EXPECT_EQ(config.find("train")->find("validation")->scalar, "0");
  EXPECT_EQ(config.find("train")->find("seed")->scalar, "4");
  EXPECT_EQ(config.find("eval")->find("every")->scalar, "0");

  const auto json = nlohmann::json::parse(search_json(study, {search}));
  EXPECT_EQ(json.at(0).at("chosen").at("values").at("loss.t1"), "1");
  EXPECT_EQ(json.at(0).at("chosen").at("epoch"), 7);
  EXPECT_EQ(json.at(0).at("trials").size(), 3u);
  EXPECT_EQ(search_table(study, {search}),
            "| loss.t1 | trial | epoch | held-out |\n"
            "|---|---|---|---|\n"
            "| 1 | 2 | 7 | 50.00 |\n");
}

TEST_F(Search, OfADistanceWithinClassesTheSmallestIsTheBest) {
  Study study = load();
  study.search->metric = "intra";
  merge_config(study.base, parse_config("{eval: {metrics: [intra]}}", "t"));
  const StudyRun run = study_runs(study)[0];
  finish(1, "0.25", 3);
  finish(2, "0.125", 7);
  finish(3, "0.5", 9);
  EXPECT_EQ(search_result(study, run, folder_.file("out")).best, 1);
}

TEST_F(Search, AMetricThatCannotChooseIsRefused) {
  const std::string study =
      "data: {name: glyphs, classes: 8, per_class: 4}\n"
      "train: {validation: 0.5, epochs: 9}\n"
      "eval: {every: 1, metrics: [recall_any@1, spectrum]}\n"
      "study:\n"
      "  search:\n"
      "    method: grid\n"
      "    metric: spectrum\n"
      "    space: {loss.t1: [0.5, 1]}\n";
  expect_error<ConfigError>([&] { load_study(folder_.write("t.yaml", study)); },
                            "t.yaml:7", "study.search.metric", "spectrum",
                            "recall_any@1");
}

TEST_F(Search, ATrialWithoutABestEvaluationIsNotChosen) {
  const Study study = load();
  finish(1, "0.25", 3);
  finish(2, "0.125", 7);
  std::filesystem::create_directories(folder_.file("out/search/trial-3"));
  folder_.write("out/search/trial-3/metrics.json",
                R"({"split": "validation", "best": null})");
  const SearchResult search =
      search_result(study, study_runs(study)[0], folder_.file("out"));
  EXPECT_TRUE(search.ended);
  EXPECT_EQ(search.best, 0);
}

TEST_F(Search, ATrialThatDivergedIsNotChosen) {
  const Study study = load();
  const StudyRun run = study_runs(study)[0];
  const std::string out = folder_.file("out");
  finish(1, "null", 1);
  finish(3, "0.125", 2);
  std::filesystem::create_directories(out + "/search/trial-2");
  EXPECT_FALSE(search_result(study, run, out).ended);
  folder_.write("out/search/trial-2/diverged.txt", "NaN\n");
  EXPECT_TRUE(search_result(study, run, out).results[1].diverged);
  std::filesystem::remove(out + "/search/trial-2/diverged.txt");
  folder_.write("out/search/trial-2/bad_batch.txt", "a.png\n");
  SearchResult search = search_result(study, run, out);
  EXPECT_TRUE(search.results[1].diverged);
  EXPECT_EQ(search.best, 2);
  finish(3, "null", 2);
  search = search_result(study, run, out);
  EXPECT_TRUE(search.ended);
  EXPECT_EQ(search.best, -1);
}

TEST_F(Search, AnythingButHeldOutClassesIsRefused) {
  const Study study = load();
  finish(1, "0.5", 1, "test");
  expect_error<DataError>(
      [&] { search_result(study, study_runs(study)[0], folder_.file("out")); },
      "trial-1/metrics.json", "held-out");
  const auto refused = [&](const std::string& change, const auto&... parts) {
    expect_error<ConfigError>(
        [&] { load_study(folder_.file("s.yaml"), {change}); }, parts...);
  };
  refused("train.validation=0", "s.yaml:6", "train.validation");
  refused("eval.split=test", "eval.split", "held-out");
  refused("study.search.metric=nmi", "'nmi'", "map_at_r");
  refused("study.search.space={loss.t9: [1]}", "loss.t9");
  refused("study.folds=4", "train.folds", "train.validation");
}

/// The same with two folds, as in "A Metric Learning Reality Check".
class FoldSearch : public Search {
 protected:
  Study load_folds() const {
    load();
    return load_study(folder_.file("s.yaml"),
                      {"study.folds=2", "train.validation=0"});
  }

  void finish_fold(int trial, int fold, const std::string& value) const {
    const std::string place = "out/search/trial-" + std::to_string(trial) +
                              "/fold-" + std::to_string(fold);
    std::filesystem::create_directories(folder_.file(place));
    folder_.write(place + "/metrics.json",
                  R"({"split": "validation", "best": {"value": )" + value +
                      R"(, "epoch": 3}})");
  }
};

TEST_F(FoldSearch, ATrialTrainsOnEachFold) {
  const Study study = load_folds();
  const std::vector<Trial> trials = trials_of(study, study_runs(study)[0]);
  ASSERT_EQ(trials.size(), 3u);
  ASSERT_EQ(trials[1].trainings.size(), 2u);
  const TrialTraining& second = trials[1].trainings[1];
  EXPECT_EQ(second.folder, "search/trial-2/fold-2");
  EXPECT_EQ(second.config.find("train")->find("folds")->scalar, "2");
  EXPECT_EQ(second.config.find("train")->find("fold")->scalar, "2");
  EXPECT_EQ(second.config.find("train")->find("seed")->scalar, "2");
  EXPECT_EQ(second.config.find("loss")->find("t1")->scalar, "1");
}

TEST_F(FoldSearch, TakesTheBestMeanOverTheFolds) {
  const Study study = load_folds();
  const StudyRun run = study_runs(study)[0];
  const std::string out = folder_.file("out");
  finish_fold(1, 1, "0.5");
  finish_fold(1, 2, "0.1");
  finish_fold(2, 1, "0.3");
  finish_fold(2, 2, "0.4");
  finish_fold(3, 1, "0.9");
  EXPECT_FALSE(search_result(study, run, out).ended);
  std::filesystem::create_directories(out + "/search/trial-3/fold-2");
  folder_.write("out/search/trial-3/fold-2/diverged.txt", "NaN\n");
  const SearchResult search = search_result(study, run, out);
  EXPECT_TRUE(search.ended);
  EXPECT_TRUE(search.results[2].diverged);
  ASSERT_EQ(search.best, 1);
  EXPECT_DOUBLE_EQ(search.results[1].value, 0.35);
  // Each fold of the trainings that follow chooses its own epoch.
  const StudyRun chosen = with_chosen_values(run, search);
  EXPECT_EQ(chosen.config.find("loss")->find("t1")->scalar, "1");
  EXPECT_EQ(chosen.config.find("train")->find("seed")->scalar, "4");
  EXPECT_EQ(chosen.config.find("train")->find("stop_epoch"), nullptr);
  const auto json = nlohmann::json::parse(search_json(study, {search}));
  EXPECT_FALSE(json.at(0).at("chosen").contains("epoch"));
  EXPECT_EQ(search_table(study, {search}),
            "| loss.t1 | trial | epoch | held-out |\n"
            "|---|---|---|---|\n"
            "| 1 | 2 | - | 35.00 |\n");
}

TEST_F(FoldSearch, TheTrainingsThatFollowAreOfFoldsToo) {
  const Study study = load_folds();
  const std::vector<StudyRun> runs = study_runs(study);
  const std::string out = folder_.file("out");
  const auto names = [&] {
    std::vector<std::string> all;
    for (const StudyTask& task : study_tasks(study, runs, out)) {
      all.push_back(task.folder + ": " + state_name(task.state));
    }
    return all;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(names(),
              ElementsAre("search/trial-1/fold-1: to do",
                          "search/trial-1/fold-2: to do",
                          "search/trial-2/fold-1: to do",
                          "search/trial-2/fold-2: to do",
                          "search/trial-3/fold-1: to do",
                          "search/trial-3/fold-2: to do", "seed-4: waiting"));
  for (const StudyTask& task : study_tasks(study, runs, out)) {
    if (task.state != TaskState::kToDo) continue;
    std::filesystem::create_directories(out + "/" + task.folder);
    write_file_atomically(task_config_path(out + "/" + task.folder),
                          to_yaml(task.config));
  }
  for (int trial = 1; trial <= 3; ++trial) {
    for (int fold = 1; fold <= 2; ++fold) finish_fold(trial, fold, "0.5");
  }
  const auto after = study_tasks(study, runs, out);
  ASSERT_EQ(after.size(), 9u);
  EXPECT_EQ(after[6].folder, "seed-4/fold-1");
  EXPECT_EQ(after[6].state, TaskState::kToDo);
  EXPECT_EQ(after[6].config.find("loss")->find("t1")->scalar, "0.5");
  EXPECT_TRUE(after[8].joins_folds);
  EXPECT_EQ(after[8].state, TaskState::kWaiting);
}

}  // namespace
}  // namespace kith
