#include "kith/run/run_place.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/run/run_state.h"
#include "kith/train/run_config.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

ConfigNode config(const std::string& yaml) { return parse_config(yaml, "c"); }

std::string started(const ConfigNode& node, const char* key) {
  return node.find("started")->find(key)->scalar;
}

class RunPlace : public ::testing::Test {
 protected:
  RunPlace() {
    for (const char* folder : {"work/data", "work/runs/a/checkpoints"}) {
      fs::create_directories(dir_.file(folder));
    }
    dir_.write("work/weights.pth", "");
    run_ = config(
        "data: {name: csv, path: data}\nmodel: {weights: w/r.pth}\n"
        "started: {folder: " +
        dir_.file("work") + ", out: runs/a}\n");
  }

  TempDir dir_;
  ConfigNode run_;
};

TEST_F(RunPlace, IsRecordedOnce) {
  ConfigNode node = config("data: {name: glyphs}");
  record_start(node, "runs/a");
  EXPECT_EQ(started(node, "folder"), fs::current_path().string());
  EXPECT_EQ(started(node, "out"), "runs/a");
  // A run that is trained as another was has its paths from there.
  record_start(run_, dir_.file("other/b"));
  EXPECT_EQ(started(run_, "folder"), dir_.file("work"));
  EXPECT_EQ(started(run_, "out"), "../other/b");
  forget_start(run_);
  EXPECT_EQ(run_.find("started"), nullptr);
}

TEST_F(RunPlace, PathsAreFoundFromThere) {
  EXPECT_EQ(run_data(run_).find("path")->scalar, dir_.file("work/data"));
  EXPECT_EQ(run_data(run_).find("name")->scalar, "csv");
  EXPECT_EQ(run_path(run_, "model.weights", "weights.pth"),
            dir_.file("work/weights.pth"));
  EXPECT_EQ(run_path(run_, "data.path", "/any/where"), "/any/where");
  EXPECT_EQ(run_path(run_, "data.path", ""), "");
  EXPECT_EQ(run_data(config("data: {name: glyphs}")).find("path"), nullptr);
  expect_error<MissingPath>([&] { run_path(run_, "train.init_from", "none"); },
                            "'train.init_from' is none",
                            fs::current_path().string(), dir_.file("work"),
                            "; set 'train.init_from' to where it is");
  expect_error<DataError>(
      [&] { run_data(config("data: {name: csv, path: no/such}")); },
      "'data.path' is no/such", fs::current_path().string());
}

TEST_F(RunPlace, FollowsARunThatMovedWithItsData) {
  const LogCapture log;
  ConfigNode same = run_;
  follow_run(same, dir_.file("work/runs/a"));
  follow_run(same, dir_.file("work/runs/../runs/a/"));
  EXPECT_EQ(to_yaml(same), to_yaml(run_));
  fs::rename(dir_.file("work"), dir_.file("moved"));
  for (const char* place : {"moved/runs/a", "moved/runs/a/checkpoints/x"}) {
    ConfigNode moved = run_;
    follow_run(moved, dir_.file(place));
    EXPECT_EQ(started(moved, "folder"), dir_.file("moved")) << place;
    EXPECT_EQ(started(moved, "out"), "runs/a");
    EXPECT_EQ(run_data(moved).find("path")->scalar, dir_.file("moved/data"));
  }
  EXPECT_EQ(log.notes().size(), 2u);
  // What is still where it was is not looked for beside a copy of the run.
  fs::create_directories(dir_.file("work/data"));
  ConfigNode copy = run_;
  follow_run(copy, dir_.file("moved/runs/a"));
  EXPECT_EQ(started(copy, "folder"), dir_.file("work"));
}

TEST_F(RunPlace, IsNoPartOfWhatIsTrained) {
  const RunConfig one = complete_config(config("data: {name: glyphs}"));
  RunConfig other = one;
  record_start(other.tree, "runs/a");
  EXPECT_EQ(first_difference(one.tree, other.tree), "");
  EXPECT_EQ(to_yaml(complete_config(other.tree).tree), to_yaml(other.tree));
  expect_error<ConfigError>(
      [] {
        complete_config(config("data: {name: glyphs}\nstarted: {folders: x}"));
      },
      "'started.folders'", "did you mean 'folder'?");
}

}  // namespace
}  // namespace kith
