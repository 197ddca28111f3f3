// Runs that are used from another folder than they were started in, or moved.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "tests/cli/run_program.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kConfig =
    "data: {name: csv, path: data}\n"
    "sampler: {batch: 16, per_class: 4}\n"
    "model:\n"
    "  input: {size: 16}\n"
    "  backbone: {name: convnet, width: 8}\n"
    "  head: {dim: 16}\n"
    "train: {epochs: 2}\n";

const std::vector<std::string> kOnCpu = {"--device", "cpu", "--threads", "1"};

std::vector<std::string> on_cpu(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), kOnCpu.begin(), kOnCpu.end());
  return arguments;
}

/// "work" with data and a run in it, trained there, and "elsewhere".
class Places : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(at("work"));
    fs::create_directories(at("elsewhere"));
    folder_.write("work/tiny.yaml", kConfig);
    in("work", {"data", "make", "glyphs", "--out", "data", "--classes", "12",
                "--per-class", "8"});
    in("work", on_cpu({"train", "tiny.yaml", "--out", "runs/a"}));
  }

  std::string at(const std::string& name) const { return folder_.file(name); }

  /// Runs kith in a folder.
  ProgramResult in(const std::string& place,
                   const std::vector<std::string>& arguments) const {
    ProgramOptions options;
    options.folder = at(place);
    return expect_success(arguments, options);
  }

  double recall(const std::string& place, const std::string& run) const {
    return Json::parse(in(place, on_cpu({"eval", run, "--json"})).out)
        .at("recall_any@1");
  }

  TempDir folder_;
};

TEST_F(Places, ARunIsUsedFromAnywhere) {
  const double own = recall("work", "runs/a");
  EXPECT_EQ(recall("elsewhere", "../work/runs/a"), own);
  EXPECT_EQ(recall("elsewhere", at("work/runs/a/checkpoints/last.safetensors")),
            own);
  in("elsewhere", on_cpu({"index", "../work/runs/a", "--out", "x.faiss"}));
  EXPECT_TRUE(fs::exists(at("elsewhere/x.faiss")));
  in("elsewhere", {"data", "check", "../work/runs/a/config.yaml"});
  const ProgramResult report =
      in("elsewhere", on_cpu({"report", "../work/runs/a", "--out", "r.html"}));
  EXPECT_THAT(report.err, Not(HasSubstr("warning")));
  // Another data set of the same name in the way is not taken for it.
  in("elsewhere", {"data", "make", "glyphs", "--out", "data", "--classes", "6",
                   "--per-class", "3", "--seed", "7"});
  EXPECT_EQ(recall("elsewhere", "../work/runs/a"), own);
}

TEST_F(Places, ARunGoesOnFromAnywhere) {
  const std::string run = at("work/runs/a");
  const ProgramResult alone =
      in("elsewhere", on_cpu({"train", "--resume", "--out", run}));
  EXPECT_THAT(alone.err, HasSubstr("resumed after step 6"));
  const ProgramResult given =
      in("elsewhere",
         on_cpu({"train", at("work/tiny.yaml"), "--resume", "--out", run}));
  EXPECT_THAT(given.err, HasSubstr("resumed after step 6"));
  EXPECT_EQ(recall("elsewhere", run), recall("work", "runs/a"));
  // What it was trained with is trained with again.
  in("elsewhere", on_cpu({"train", run + "/config.yaml", "--out", "b"}));
  EXPECT_EQ(recall("work", "../elsewhere/b"), recall("work", "runs/a"));
}

TEST_F(Places, ARunMayMoveWithItsData) {
  const double own = recall("work", "runs/a");
  fs::rename(at("work"), at("moved"));
  EXPECT_EQ(recall("elsewhere", "../moved/runs/a"), own);
  const ProgramResult said =
      in("elsewhere", on_cpu({"eval", "../moved/runs/a"}));
  EXPECT_THAT(said.err, HasSubstr("the run was moved from"));
  EXPECT_THAT(said.err, HasSubstr(at("moved")));
  in("elsewhere", on_cpu({"index", "../moved/runs/a", "--out", "x.faiss"}));
  in("elsewhere", on_cpu({"train", "--resume", "--out", at("moved/runs/a")}));
}

TEST_F(Places, ARunMayMoveWithoutItsData) {
  const double own = recall("work", "runs/a");
  fs::rename(at("work/runs/a"), at("elsewhere/a"));
  EXPECT_EQ(recall("elsewhere", "a"), own);
}

TEST_F(Places, WhatIsNowhereIsSaid) {
  fs::rename(at("work/data"), at("work/gone"));
  ProgramOptions options;
  options.folder = at("elsewhere");
  expect_failure(1, on_cpu({"eval", "../work/runs/a"}),
                 {"'data.path' is data", at("elsewhere"), at("work"),
                  "where the run was started", "--data"},
                 options);
  options.folder = at("work");
  expect_failure(1, on_cpu({"train", "tiny.yaml", "--out", "runs/b"}),
                 {"'data.path' is data", at("work"), "--set data.path="},
                 options);
  EXPECT_FALSE(fs::exists(at("work/runs/b")));
}

TEST_F(Places, AnExportDoesNotTellWhereItWasMade) {
  in("work", {"export", "runs/a", "--out", "model"});
  const std::string weights =
      read_file(at("work/model/model.safetensors"), uint64_t{1} << 26);
  EXPECT_THAT(weights, Not(HasSubstr(at("work"))));
  EXPECT_THAT(
      read_file(at("work/runs/a/config.yaml"), uint64_t{1} << 20),
      HasSubstr("started:\n  folder: " + at("work") + "\n  out: runs/a\n"));
}

}  // namespace
}  // namespace kith
