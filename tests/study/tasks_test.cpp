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

  /// As `kith folds` does.
  void score(const std::string& run) const {
    std::string marks;
    for (const char* fold : {"/fold-1", "/fold-2"}) {
      marks += (marks.empty() ? "\"" : ", \"") +
               training_mark(folder_.file("out/" + run + fold)) + "\"";
    }
    write(run + "/metrics.json", "{\"trained\": [" + marks + "]}");
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
                            "option 'out'", "delete");
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
  // Scored by whom it does not say: not of these, perhaps.
  write("seed-0/metrics.json", "{}");
  EXPECT_EQ(states().back(), "seed-0 to do");
  score("seed-0");
  EXPECT_EQ(states().back(), "seed-0 done");
}

TEST_F(Tasks, FoldsThatChangedAreScoredAgainWhateverTheTime) {
  load("  folds: 2\n");
  begin(0);
  begin(1);
  for (const char* fold : {"seed-0/fold-1", "seed-0/fold-2"}) {
    write(std::string(fold) + "/config.yaml", "train: {seed: 0}\n");
    write(std::string(fold) + "/metrics.json", R"({"last": 1})");
  }
  score("seed-0");
  EXPECT_EQ(states().back(), "seed-0 done");
  const auto set_age = [&](const std::string& file, int hours) {
    std::filesystem::last_write_time(
        folder_.file("out/seed-0/" + file),
        std::filesystem::file_time_type::clock::now() -
            std::chrono::hours(hours));
  };
  // A copy may have any times.
  set_age("metrics.json", 5);
  set_age("fold-2/metrics.json", 1);
  EXPECT_EQ(states().back(), "seed-0 done");
  // So may a fold that was trained again, to other numbers or by other
  // settings.
  write("seed-0/fold-2/metrics.json", R"({"last": 2})");
  set_age("fold-2/metrics.json", 9);
  EXPECT_EQ(states().back(), "seed-0 to do");
  score("seed-0");
  EXPECT_EQ(states().back(), "seed-0 done");
  write("seed-0/fold-1/config.yaml", "train: {seed: 1}\n");
  set_age("fold-1/config.yaml", 9);
  EXPECT_EQ(states().back(), "seed-0 to do");
  score("seed-0");
  // Where it was started is not what it is.
  write("seed-0/fold-1/config.yaml",
        "train: {seed: 1}\nstarted: {folder: /x, out: y}\n");
  EXPECT_EQ(states().back(), "seed-0 done");
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
