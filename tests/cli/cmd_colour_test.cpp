// Colour, mean and std of the input follow the data and the weights.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/image/encode.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/scene.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A folder with photographs of 12 classes, and a configuration that says
/// nothing of their colour.
class ColourOfTheData : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 96; ++i) {
      const std::string place = folder_.file(
          "birds/" + std::string(1, static_cast<char>('a' + i / 8)));
      std::filesystem::create_directories(place);
      write_png(place + "/" + std::to_string(i) + ".png",
                draw_scene(i, 20, 16));
    }
    config_ = folder_.write(
        "birds.yaml", "data: {name: folder, path: " + folder_.file("birds") +
                          "}\n"
                          "sampler: {batch: 16, per_class: 4}\n"
                          "model:\n"
                          "  input: {size: 16}\n"
                          "  backbone: {name: convnet, width: 8}\n"
                          "  head: {dim: 16}\n"
                          "train: {epochs: 1}\n");
  }

  std::string print(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"train", config_, "--print-config"};
    for (const std::string& change : more) {
      arguments.insert(arguments.end(), {"--set", change});
    }
    return expect_success(arguments).out;
  }

  TempDir folder_;
  std::string config_;
};

TEST_F(ColourOfTheData, IsTrainedWithAndRecorded) {
  const std::string run = folder_.file("run");
  const ProgramResult trained = expect_success(train_arguments(config_, run));
  EXPECT_THAT(trained.err, HasSubstr("colour: rgb (found in the data)"));
  const std::string recorded = contents(run + "/config.yaml");
  EXPECT_THAT(recorded, HasSubstr("    colour: rgb\n"
                                  "    mean: [0.5, 0.5, 0.5]\n"
                                  "    std: [0.5, 0.5, 0.5]\n"));
  // Nobody guesses again: not of other data either.
  expect_success(train_arguments(config_, run, {"--resume"}));
  for (int i = 0; i < 96; ++i) {
    const std::string place =
        folder_.file("birds/" + std::string(1, static_cast<char>('a' + i / 8)));
    write_png(place + "/" + std::to_string(i) + ".png", Image(8, 8, 1));
  }
  const ProgramResult scored =
      expect_success({"eval", run, "--device", "cpu", "--threads", "1"});
  EXPECT_THAT(scored.err, Not(HasSubstr("colour:")));
  EXPECT_EQ(
      expect_success({"train", run + "/config.yaml", "--print-config"}).out,
      recorded);
}

TEST_F(ColourOfTheData, IsShownBeforehand) {
  EXPECT_THAT(print(), HasSubstr("colour: rgb\n"));
  EXPECT_THAT(print({"model.input.colour=grey"}),
              HasSubstr("colour: grey\n    mean: [0.5]\n    std: [0.5]\n"));
  // Weights say what they were trained with.
  EXPECT_THAT(
      print({"model.backbone={name: resnet18}", "model.weights=none.pth"}),
      HasSubstr("colour: rgb\n    mean: [0.485, 0.456, 0.406]\n"
                "    std: [0.229, 0.224, 0.225]\n"));
  EXPECT_THAT(
      print({"model.backbone={name: bn_inception}", "model.weights=none.pth"}),
      HasSubstr("colour: bgr\n    mean: [0.40784"));
  EXPECT_THAT(
      print({"model.backbone={name: googlenet}", "model.weights=none.pth"}),
      HasSubstr("colour: rgb\n    mean: [0.5, 0.5, 0.5]\n"));
  // Without the data it stays open, and says so.
  std::filesystem::rename(folder_.file("birds"), folder_.file("gone"));
  const ProgramResult open =
      expect_success({"train", config_, "--print-config"});
  EXPECT_THAT(open.out, HasSubstr("colour: auto\n    mean: []\n"));
  EXPECT_THAT(open.err, HasSubstr("until the data are there"));
}

TEST_F(ColourOfTheData, MayBeLeftOutWithAWord) {
  const std::vector<std::string> grey = {"--dry-run", "--set",
                                         "model.input.colour=grey"};
  EXPECT_THAT(
      expect_success(train_arguments(config_, folder_.file("run"), grey)).err,
      HasSubstr("colour: grey, as 'model.input.colour' says, though the "
                "pictures have colours"));
  EXPECT_THAT(expect_success(
                  train_arguments(config_, folder_.file("run"), {"--dry-run"}))
                  .err,
              HasSubstr("colour: rgb (found in the data)"));
  expect_failure(2,
                 train_arguments(config_, folder_.file("run"),
                                 {"--set", "model.input.mean=[0.8]"}),
                 {"'model.input.mean' needs 3 values", "'rgb'", "leave it out",
                  "'model.input.colour'"});
}

}  // namespace
}  // namespace kith
