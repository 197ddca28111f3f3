// `kith export`: what it writes, and that the rest of the program takes it.

#include <cstdio>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// A tiny run, for all tests.
class ExportCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir();
    const std::string config = folder_->write("tiny.yaml", kTinyConfig);
    expect_success(train_arguments(config, run()));
    expect_success({"data", "make", "glyphs", "--out", images(), "--classes",
                    "2", "--per-class", "2"});
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string run() { return folder_->file("run"); }
  static std::string images() { return folder_->file("images"); }
  static std::string out(const std::string& name) {
    return folder_->file(name);
  }

  /// The bytes of the embeddings of the images.
  static std::string embeddings(const std::string& model) {
    const std::string file = folder_->file("rows.npy");
    expect_success({"embed", model, "--images", images(), "--out", file,
                    "--device", "cpu", "--threads", "1"});
    return read_file(file, 1 << 20);
  }

  static TempDir* folder_;
};

TempDir* ExportCommand::folder_ = nullptr;

TEST_F(ExportCommand, WritesAFolderThatIsAModel) {
  const std::string folder = out("export");
  const ProgramResult result =
      expect_success({"export", run(), "--out", folder, "--json"});
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json.at("out"), folder);
  EXPECT_EQ(json.at("checkpoint"), run() + "/checkpoints/last.safetensors");
  EXPECT_EQ(json.at("dim"), 16);
  for (const char* name :
       {"model.safetensors", "model.json", "preprocessing.json", "README.md"}) {
    EXPECT_TRUE(fs::exists(folder + "/" + name)) << name;
  }
  const uint64_t bytes = fs::file_size(folder + "/model.safetensors");
  EXPECT_EQ(json.at("bytes"), bytes);
  EXPECT_LT(bytes, fs::file_size(run() + "/checkpoints/last.safetensors") / 2);

  EXPECT_EQ(embeddings(folder), embeddings(run()));
  const ProgramResult eval = expect_success(
      {"eval", folder, "--json", "--device", "cpu", "--threads", "1"});
  EXPECT_GT(Json::parse(eval.out).at("recall_any@1"), 0.0);
}

TEST_F(ExportCommand, TakesACheckpointOrTheBestOrAnExport) {
  const std::string best = run() + "/checkpoints/best.safetensors";
  expect_success({"export", best, "--out", out("a")});
  expect_success({"export", run(), "--checkpoint", "best", "--out", out("b")});
  expect_success({"export", out("a"), "--out", out("c")});
  const auto weights = [](const std::string& folder) {
    return read_file(folder + "/model.safetensors", 1 << 24);
  };
  EXPECT_EQ(weights(out("a")), weights(out("b")));
  EXPECT_EQ(weights(out("a")), weights(out("c")));
  const Json copy = Json::parse(read_file(out("c") + "/model.json", 1 << 20));
  EXPECT_EQ(copy.at("training").at("checkpoint"), best);
}

TEST_F(ExportCommand, TakesNoOtherNetworkForTheBest) {
  const std::string run_without = out("no_best");
  fs::copy(run(), run_without, fs::copy_options::recursive);
  fs::remove(run_without + "/checkpoints/best.safetensors");
  expect_failure(
      1, {"export", run_without, "--checkpoint", "best", "--out", out("y")},
      {"this run has no best checkpoint", "it has: last"});
  // Of an export there is one network, also if only its weights were copied.
  expect_success({"export", run(), "--out", out("whole")});
  const std::string bare = out("bare");
  fs::create_directories(bare);
  fs::copy_file(out("whole") + "/model.safetensors",
                bare + "/model.safetensors");
  for (const std::string& model : {out("whole"), bare}) {
    expect_failure(2,
                   {"export", model, "--checkpoint", "best", "--out", out("y")},
                   {"--checkpoint chooses one of a run's folder"});
  }
  EXPECT_FALSE(fs::exists(out("y")));
  // Such a folder is what a stopped export leaves.
  expect_success({"export", run(), "--out", bare, "--overwrite"});
  EXPECT_TRUE(fs::exists(bare + "/model.json"));
}

TEST_F(ExportCommand, TakesAFolderInWhichOneWasKilledAtOnce) {
  fs::create_directories(out("killed"));
  folder_->write("killed/.kith-1-0.tmp", "half");
  expect_success({"export", run(), "--out", out("killed")});
  EXPECT_FALSE(fs::exists(out("killed") + "/.kith-1-0.tmp"));
}

TEST_F(ExportCommand, WritesToAPathThatIsNotUtf8) {
  const ProgramResult result =
      expect_success({"export", run(), "--out", out("bad\xff"), "--json"});
  EXPECT_EQ(Json::parse(result.out).at("dim"), 16);
}

TEST_F(ExportCommand, OverwritesNothingButAnExportAndOnlyIfTold) {
  const std::string folder = out("again");
  expect_success({"export", run(), "--out", folder});
  expect_failure(2, {"export", run(), "--out", folder},
                 {"again: has an export already", "--overwrite"});
  const ProgramResult result =
      expect_success({"export", run(), "--out", folder, "--overwrite"});
  EXPECT_THAT(result.out, HasSubstr("embeddings of 16 numbers"));
  expect_failure(2, {"export", folder, "--out", folder, "--overwrite"},
                 {"is what is to be exported"});
  expect_failure(
      2,
      {"export", folder + "/model.safetensors", "--out", folder, "--overwrite"},
      {"is what is to be exported"});
  const std::string foreign = out("foreign");
  fs::create_directories(foreign);
  folder_->write("foreign/model.json", "{}");
  folder_->write("foreign/model.safetensors", "of another program");
  expect_failure(2, {"export", run(), "--out", foreign, "--overwrite"},
                 {"has files that are not an export"});
  expect_failure(2, {"export", run(), "--out", images(), "--overwrite"},
                 {"has files that are not an export"});
  expect_failure(2, {"export", run(), "--out", images() + "/dataset.csv"},
                 {"is a file; give a folder"});
}

TEST_F(ExportCommand, TellsWhatTheRunMeasuredOfTheNetwork) {
  const auto readme = [&](const std::string& checkpoint) {
    const std::string folder = out("measured_" + checkpoint);
    expect_success(
        {"export", run(), "--checkpoint", checkpoint, "--out", folder});
    return read_file(folder + "/README.md", 1 << 16);
  };
  const Json metrics = Json::parse(read_file(run() + "/metrics.json", 1 << 20));
  const double last = metrics.at("last").at("metrics").at("recall_any@1");
  char row[64];
  std::snprintf(row, sizeof(row), "| recall_any@1 | %.4g |", last);
  EXPECT_THAT(readme("last"), HasSubstr(row));
  // An export of the export says it of the same network.
  expect_success({"export", out("measured_last"), "--out", out("copied")});
  EXPECT_THAT(read_file(out("copied") + "/README.md", 1 << 16), HasSubstr(row));
  // Without metrics, or with damaged ones, there is no table.
  const std::string bare = out("unmeasured");
  fs::copy(run(), bare, fs::copy_options::recursive);
  folder_->write("unmeasured/metrics.json", "{");
  const ProgramResult result =
      expect_success({"export", bare, "--out", out("without")});
  EXPECT_THAT(result.err, HasSubstr("README.md has no metrics"));
  EXPECT_THAT(read_file(out("without") + "/README.md", 1 << 16),
              Not(HasSubstr("| metric |")));
}

TEST_F(ExportCommand, WritesTheNetworkAsOnnxToo) {
  const std::string folder = out("with_onnx"), onnx = folder + "/model.onnx";
  const ProgramResult result =
      expect_success({"export", run(), "--out", folder, "--onnx"});
  EXPECT_THAT(result.err, Not(HasSubstr("alone")));  // pictures of any size
  EXPECT_THAT(read_file(onnx, 1 << 20), HasSubstr("backbone.block1_conv"));
  EXPECT_THAT(read_file(folder + "/README.md", 1 << 16),
              HasSubstr("| `model.onnx` |"));
  EXPECT_EQ(embeddings(folder), embeddings(run()));
  // In half the bytes.
  expect_success({"export", run(), "--out", out("half"), "--onnx",
                  "--onnx-weights", "float16"});
  EXPECT_LT(fs::file_size(out("half") + "/model.onnx"), fs::file_size(onnx));
  // One of other weights does not stay.
  expect_success({"export", run(), "--out", folder, "--overwrite"});
  EXPECT_FALSE(fs::exists(onnx));
  EXPECT_THAT(read_file(folder + "/README.md", 1 << 16),
              Not(HasSubstr("model.onnx")));
}

TEST_F(ExportCommand, WritesAModelOfTheTritonServer) {
  const std::string folder = out("characters");
  const std::vector<std::string> command = {"export", run(), "--out", folder,
                                            "--triton"};
  expect_success(command);
  EXPECT_TRUE(fs::exists(folder + "/1/model.onnx"));
  const std::string config = read_file(folder + "/config.pbtxt", 1 << 16);
  EXPECT_THAT(config, HasSubstr("name: \"characters\""));
  EXPECT_THAT(config, HasSubstr("dims: [ 1, -1, -1 ]"));
  EXPECT_THAT(config, HasSubstr("dims: [ 16 ]"));
  EXPECT_THAT(config, HasSubstr("dynamic_batching"));
  expect_failure(2, command, {"characters: has an export already"});
  std::vector<std::string> again = command;
  again.insert(again.end(), {"--overwrite", "--onnx-input", "uint8",
                             "--onnx-size", "fixed"});
  expect_success(again);
  EXPECT_THAT(read_file(folder + "/config.pbtxt", 1 << 16),
              HasSubstr("dims: [ 16, 16, 1 ]"));
  // Neither kind of export takes the other's place.
  expect_failure(2, {"export", run(), "--out", folder, "--overwrite"},
                 {"has files that are not an export"});
  expect_success({"export", run(), "--out", out("plain")});
  expect_failure(
      2, {"export", run(), "--out", out("plain"), "--triton", "--overwrite"},
      {"has files that are not an export"});
  expect_failure(2, {"export", run(), "--out", out("a b"), "--triton"},
                 {"letters, digits"});
}

TEST_F(ExportCommand, WritesAFolderForTimm) {
  const std::string trained = out("regnet"), folder = out("for_timm");
  const std::string config = folder_->write("regnet.yaml", kTinyConfig);
  expect_success(train_arguments(
      config, trained,
      {"--set",
       "model={input: {size: 32, colour: rgb}, backbone: {name: "
       "regnety_002}, head: {dim: 16}}",
       "--set", "train.epochs=1"}));
  const std::vector<std::string> command = {"export", trained, "--out", folder,
                                            "--huggingface"};
  const ProgramResult result = expect_success(command);
  EXPECT_THAT(result.out, HasSubstr("README.md there tells how to use it"));
  const std::string card = read_file(folder + "/README.md", 1 << 16);
  const Json metrics =
      Json::parse(read_file(trained + "/metrics.json", 1 << 20));
  const double recall = metrics.at("last").at("metrics").at("recall_any@1");
  EXPECT_THAT(card, HasSubstr("value: " + Json(recall).dump()));
  EXPECT_THAT(card, HasSubstr("| recall_any@1 |"));
  EXPECT_THAT(card, HasSubstr("name: recall_at_k"));
  // What published weights serve for.
  expect_success({"eval", "--weights", folder, "--data", images(), "--out",
                  out("eval"), "--device", "cpu", "--threads", "1"});
  expect_failure(2, command, {"for_timm: has an export already"});
  std::vector<std::string> again = command;
  again.emplace_back("--overwrite");
  expect_success(again);
  // No kind of export takes another's place.
  expect_failure(2, {"export", trained, "--out", folder, "--overwrite"},
                 {"has files that are not an export"});
  expect_failure(2, {"export", run(), "--out", out("none"), "--huggingface"},
                 {"neither timm nor torchvision has the backbone 'convnet'",
                  "without --huggingface", "--onnx"});
  EXPECT_FALSE(fs::exists(out("none")));
}

TEST_F(ExportCommand, RefusesFlagsThatDoNotGoTogether) {
  expect_failure(
      2, {"export", run(), "--out", out("z"), "--onnx", "--huggingface"},
      {"--huggingface writes a folder for timm", "leave out --onnx"});
  expect_failure(
      2, {"export", run(), "--out", out("z"), "--triton", "--huggingface"},
      {"leave out --triton"});
  expect_failure(
      2, {"export", run(), "--out", out("z"), "--onnx-input", "uint8"},
      {"--onnx-input is about an ONNX model: add --onnx or --triton"});
  expect_failure(2, {"export", run(), "--out", out("z"), "--onnx", "--triton"},
                 {"leave out --onnx"});
  expect_failure(
      2,
      {"export", run(), "--out", out("z"), "--onnx", "--onnx-weights", "int8"},
      {"int8", "float16"});
  EXPECT_FALSE(fs::exists(out("z")));
}

TEST_F(ExportCommand, RefusesWhatIsNoModel) {
  expect_failure(1, {"export", images(), "--out", out("x")},
                 {"no run of kith here", "nor an export"});
  expect_failure(1, {"export", images() + "/dataset.csv", "--out", out("x")},
                 {"dataset.csv"});
  expect_failure(2,
                 {"export", run() + "/checkpoints/last.safetensors",
                  "--checkpoint", "best", "--out", out("x")},
                 {"--checkpoint chooses one of a run's folder"});
  expect_failure(2,
                 {"export", run(), "--checkpoint", "first", "--out", out("x")},
                 {"first", "last"});
  EXPECT_FALSE(fs::exists(out("x")));
}

}  // namespace
}  // namespace kith
