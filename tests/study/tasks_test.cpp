#include "kith/study/tasks.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;

class Tasks : public ::testing::Test {
 protected:
  void load(const std::string& section,
            const std::vector<std::string>& overrides = {}) {
    study_ = load_study(
        folder_.write("s.yaml",
                      "data: {name: glyphs, classes: 8, per_class: 4}\n"
                      "train: {epochs: 9}\n"
                      "eval: {every: 1, metrics: [recall_any@1]}\n"
                      "study:\n" +
                          section),
        overrides);
  }

  std::vector<StudyTask> tasks() const {
    return study_tasks(study_, study_runs(study_), folder_.file("out"));
  }

  /// "folder state", of every task.
  std::vector<std::string> states() const {
    std::vector<std::string> texts;
    for (const StudyTask& task : tasks()) {
      texts.push_back(task.folder + " " + state_name(task.state));
    }
    return texts;
  }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file(folder_.file("out/" + path));
    std::filesystem::create_directories(file.parent_path());
    write_file(file.string(), text);
  }

  void begin(size_t task) const {
    const StudyTask begun = tasks()[task];
    write(begun.folder + "/study_config.yaml", to_yaml(begun.config));
  }

  const TempDir folder_;
  Study study_;
};

TEST_F(Tasks, AreAsFarAsTheirFilesSay) {
  load("  seeds: [0, 1, 2]\n");
  begin(0);
  begin(1);
  write("seed-0/metrics.json", "{}");
  EXPECT_THAT(states(),
              ElementsAre("seed-0 done", "seed-1 begun", "seed-2 to do"));
  const std::vector<StudyRun> runs = study_runs(study_);
  EXPECT_EQ(run_state(runs[1], folder_.file("out")), TaskState::kBegun);
  EXPECT_EQ(run_state(runs[2], folder_.file("out")), TaskState::kToDo);
}

TEST_F(Tasks, AChangedConfigurationIsRefused) {
  load("  seeds: [0]\n");
  begin(0);
  load("  seeds: [0]\n", {"loss.t1=5"});
  expect_error<ConfigError>([&] { tasks(); }, "'loss.t1'", "out/seed-0",
                            "--out", "delete");
  // What does not change numbers may change.
  load("  seeds: [0]\n", {"train.workers=3"});
  EXPECT_THAT(states(), ElementsAre("seed-0 begun"));
}

TEST_F(Tasks, AFolderOfAnotherRunIsRefused) {
  load("  seeds: [0]\n");
  write("seed-0/config.yaml", "");
  expect_error<ConfigError>([&] { tasks(); }, "out/seed-0", "no sweep began");
}

TEST_F(Tasks, FoldsAreTrainedAndThenScored) {
  load("  folds: 2\n");
  EXPECT_THAT(states(), ElementsAre("seed-0/fold-1 to do",
                                    "seed-0/fold-2 to do", "seed-0 waiting"));
  const ConfigNode config = tasks()[1].config;
  EXPECT_EQ(config.find("train")->find("folds")->scalar, "2");
  EXPECT_EQ(config.find("train")->find("fold")->scalar, "2");
  begin(0);
  begin(1);
  write("seed-0/fold-1/metrics.json", "{}");
  write("seed-0/fold-2/metrics.json", "{}");
  EXPECT_EQ(states().back(), "seed-0 to do");
  EXPECT_TRUE(tasks().back().joins_folds);
  write("seed-0/metrics.json", "{}");
  EXPECT_EQ(states().back(), "seed-0 done");
  // A fold that was trained again is scored again.
  const std::filesystem::path fold =
      folder_.file("out/seed-0/fold-2/metrics.json");
  std::filesystem::last_write_time(
      fold, std::filesystem::last_write_time(fold) + std::chrono::hours(1));
  EXPECT_EQ(states().back(), "seed-0 to do");
}

TEST_F(Tasks, RunsWaitForTheirSearch) {
  load("  search: {method: grid, space: {loss.t1: [1, 2]}}\n",
       {"train.validation=0.5"});
  EXPECT_THAT(states(), ElementsAre("search/trial-1 to do",
                                    "search/trial-2 to do", "seed-0 waiting"));
  begin(0);
  begin(1);
  write("search/trial-1/metrics.json",
        R"({"split": "validation", "best": {"value": 0.5, "epoch": 3}})");
  write("search/trial-2/bad_batch.txt", "");
  EXPECT_THAT(states(), ElementsAre("search/trial-1 done",
                                    "search/trial-2 done", "seed-0 to do"));
  EXPECT_EQ(tasks()[2].config.find("loss")->find("t1")->scalar, "1");
}

}  // namespace
}  // namespace kith
