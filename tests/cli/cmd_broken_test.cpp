// Images that cannot be read, from the first error to the report.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

/// Characters of which two cannot be read: one to train with, one to test.
class BrokenImages : public ::testing::Test {
 protected:
  BrokenImages() {
    expect_success({"data", "make", "glyphs", "--out", data_, "--classes", "12",
                    "--per-class", "8"});
    whole_ = contents(train_);
    folder_.write("data/images/0001/003.png",
                  whole_.substr(0, whole_.size() / 2));
    std::filesystem::remove(test_);
    std::string config = kTinyConfig;
    const std::string glyphs = "{name: glyphs, classes: 12, per_class: 8}";
    config.replace(config.find(glyphs), glyphs.size(),
                   "{name: csv, path: " + data_ + "}");
    config_ = folder_.write("broken.yaml", config);
  }

  std::vector<std::string> skip(const std::string& run,
                                const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments =
        train_arguments(config_, run, {"--set", "data.on_broken=skip"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  TempDir folder_;
  std::string data_ = folder_.file("data");
  std::string train_ = folder_.file("data/images/0001/003.png");
  std::string test_ = folder_.file("data/images/0007/000.png");
  std::string run_ = folder_.file("run");
  std::string whole_;
  std::string config_;
};

TEST_F(BrokenImages, StopATrainingThatNamesTheCheck) {
  expect_failure(1, train_arguments(config_, run_),
                 {"003.png", "truncated or corrupt PNG", "'kith data check'",
                  "'data.on_broken: skip'"});
  expect_failure(2, skip(run_, {"--set", "data.on_broken=ignore"}),
                 {"data.on_broken", "stop", "skip"});
}

TEST_F(BrokenImages, AreListedByTheCheck) {
  const std::string list = folder_.file("broken.csv");
  const ProgramResult checked =
      run_kith({"data", "check", data_, "--left-out", list});
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_THAT(checked.out, HasSubstr("checked 96 images, 2 broken"));
  EXPECT_THAT(checked.err, HasSubstr("listed in " + list));
  EXPECT_THAT(contents(list),
              testing::StartsWith("position,path,problem\n11," + train_));
  EXPECT_THAT(contents(list), HasSubstr("\n56," + test_));
}

TEST_F(BrokenImages, AreLeftOutAndCounted) {
  const ProgramResult trained = expect_success(skip(run_));
  EXPECT_THAT(trained.err, HasSubstr("left out: 2 images that cannot be read"));
  EXPECT_THAT(trained.err, HasSubstr(train_));
  const Json metrics = Json::parse(contents(run_ + "/metrics.json"));
  EXPECT_EQ(metrics.at("left_out").at("images"), 2);
  EXPECT_EQ(metrics.at("left_out").at("first").at(1), test_);
  EXPECT_THAT(contents(run_ + "/left_out.csv"), HasSubstr("No such file"));

  const ProgramResult eval =
      expect_success({"eval", run_, "--device", "cpu", "--json"});
  EXPECT_EQ(Json::parse(eval.out).at("left_out").at("images"), 1);
  EXPECT_THAT(eval.err, HasSubstr("left out: 1 image that cannot be read"));
  EXPECT_THAT(contents(run_ + "/eval/last-epoch-2-test-standard/left_out.csv"),
              HasSubstr(test_));

  const std::string page = folder_.file("page.html");
  expect_success({"report", run_, "--out", page, "--device", "cpu"});
  EXPECT_THAT(contents(page), HasSubstr("2 images that cannot be read"));
}

TEST_F(BrokenImages, AreLeftOutOfEmbeddingsAndIndexes) {
  expect_success(train_arguments(folder_.write("tiny.yaml", kTinyConfig), run_,
                                 {"--set", "train.epochs=1"}));
  const std::string out = folder_.file("emb.npy");
  const std::vector<std::string> embed = {
      "embed", run_,    "--images", data_,   "--device",
      "cpu",   "--out", out,        "--ids", folder_.file("ids.txt")};
  expect_failure(1, embed, {"003.png", "'kith data check'"});
  std::vector<std::string> skipping = embed;
  skipping.insert(skipping.end(), {"--on-broken", "skip", "--json"});
  const Json embedded = Json::parse(expect_success(skipping).out);
  // Below a folder, a file that is gone is not missed.
  EXPECT_EQ(embedded.at("images"), 94);
  EXPECT_EQ(embedded.at("left_out"), 1);
  EXPECT_EQ(count_lines(folder_.file("ids.txt")), 94);
  EXPECT_THAT(contents(out + ".left_out.csv"), HasSubstr(train_));

  const std::string index = folder_.file("x.faiss");
  const std::vector<std::string> make = {"index", run_,  "--images", data_,
                                         "--out", index, "--device", "cpu"};
  expect_failure(1, make, {".png", "'kith data check'"});
  skipping = make;
  skipping.insert(skipping.end(), {"--on-broken", "skip"});
  EXPECT_THAT(expect_success(skipping).err, HasSubstr("left out: 2 images"));
  EXPECT_EQ(count_lines(index + ".items.csv"), 1 + 94);
  EXPECT_EQ(count_lines(index + ".left_out.csv"), 1 + 2);
}

// An image that is repaired while the run is stopped stays out of it.
TEST_F(BrokenImages, StayLeftOutWhenARunIsResumed) {
  const std::vector<std::string> steps = {"--set", "train.epochs=6", "--set",
                                          "train.checkpoint_steps=1"};
  const std::string other = folder_.file("other");
  expect_success(skip(other, steps));
  run_kith(skip(run_, steps), {.kill_when = [&] {
             return std::filesystem::exists(
                 run_ + "/checkpoints/last.previous.safetensors");
           }});
  folder_.write("data/images/0001/003.png", whole_);
  std::vector<std::string> resume = steps;
  resume.push_back("--resume");
  const ProgramResult resumed = expect_success(skip(run_, resume));
  EXPECT_THAT(resumed.err, HasSubstr("left out, as before: 2 images"));
  for (const char* file : {"/metrics.json", "/left_out.csv"}) {
    EXPECT_EQ(contents(run_ + file), contents(other + file)) << file;
  }
  // A new run has it again.
  const std::string fresh = folder_.file("fresh");
  EXPECT_THAT(expect_success(skip(fresh)).err,
              HasSubstr("left out: 1 image that"));
}

}  // namespace
}  // namespace kith
