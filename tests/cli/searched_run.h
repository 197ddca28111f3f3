#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {

/// A tiny run on images in files, whose test split is 48 images of 6 classes.
class SearchedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir();
    expect_success({"data", "make", "glyphs", "--out", images(), "--classes",
                    "12", "--per-class", "8"});
    const std::string config = folder_->write("tiny.yaml", kTinyConfig);
    expect_success(
        train_arguments(config, run(),
                        {"--set", "data={name: csv, path: '" + images() + "'}",
                         "--set", "train.epochs=1"}));
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string run() { return file("run"); }
  static std::string images() { return file("images"); }
  static std::string file(const std::string& name) {
    return folder_->file(name);
  }

  /// What a command that prints JSON says.
  static nlohmann::json json_of(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return nlohmann::json::parse(expect_success(arguments).out);
  }

  /// Indexes the run's test split and returns the index.
  static std::string indexed(const std::string& name) {
    const std::string index = file(name);
    expect_success({"index", run(), "--out", index, "--overwrite", "--device",
                    "cpu", "--threads", "1"});
    return index;
  }

  static inline TempDir* folder_ = nullptr;
};

}  // namespace kith
