// `kith eval --weights` and `kith export --weights`: networks as they were
// published, without training.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "kith/io/safetensors.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

/// Weights of a small network (those of a tiny run, whose head is left out),
/// and images.
class PublishedCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir();
    const std::string config = folder_->write("tiny.yaml", kTinyConfig);
    expect_success(train_arguments(config, folder_->file("run")));
    fs::copy_file(folder_->file("run/checkpoints/last.safetensors"), weights());
    expect_success({"data", "make", "glyphs", "--out", images(), "--classes",
                    "8", "--per-class", "3"});
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string weights() { return folder_->file("small.safetensors"); }
  static std::string images() { return folder_->file("images"); }

  static std::vector<std::string> arguments(
      const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> all = {command};
    all.insert(all.end(), more.begin(), more.end());
    if (command == "eval") {
      all.insert(all.end(), {"--device", "cpu", "--threads", "1"});
    }
    return all;
  }
  /// Of the tiny network.
  static std::vector<std::string> shape() {
    return {"--backbone", "convnet",
            "--weights",  weights(),
            "--set",      "model.backbone.width=8",
            "--set",      "model.input={size: 16, colour: grey}"};
  }
  static std::vector<std::string> with(std::vector<std::string> flags,
                                       const std::vector<std::string>& more) {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  static void refuse(int exit_code, const std::string& command,
                     const std::vector<std::string>& more,
                     const std::vector<std::string_view>& parts) {
    expect_failure(exit_code, arguments(command, more), parts);
  }

  static TempDir* folder_;
};

TempDir* PublishedCommand::folder_ = nullptr;

TEST_F(PublishedCommand, IsEvaluatedAndExportedToTheSameNumbers) {
  const std::string out = folder_->file("zero");
  const ProgramResult result = expect_success(arguments(
      "eval", with(shape(), {"--data", images(), "--out", out, "--json"})));
  EXPECT_THAT(result.err, HasSubstr("tensors loaded"));
  const Json metrics = Json::parse(result.out);
  EXPECT_EQ(metrics.at("checkpoint").at("file"), weights());
  EXPECT_GT(metrics.at("recall_any@1"), 0);
  const std::string model = folder_->file("model");
  expect_success(arguments("export", with(shape(), {"--out", model})));
  const Json described = Json::parse(read_file(model + "/model.json", 1 << 20));
  EXPECT_EQ(described.at("head").at("pooling"), "average");
  EXPECT_FALSE(described.at("head").contains("linear"));
  const Json again = Json::parse(
      expect_success(arguments("eval", {model, "--data", images(), "--out",
                                        folder_->file("again"), "--json"}))
          .out);
  EXPECT_EQ(again.at("recall_any@1"), metrics.at("recall_any@1"));
  EXPECT_EQ(again.at("map_at_r"), metrics.at("map_at_r"));
}

TEST_F(PublishedCommand, SaysWhatIsMissing) {
  refuse(2, "eval", {"--data", images()},
         {"kith eval needs a model", "--weights"});
  refuse(2, "export", {"--out", folder_->file("x")},
         {"kith export needs a model"});
  refuse(2, "eval", {"--backbone", "convnet", "--data", images()},
         {"--backbone needs --weights"});
  refuse(2, "eval", {"--weights", weights(), "--data", images()},
         {"--backbone is needed", "kith list backbones"});
  refuse(2, "eval", shape(), {"--data is needed"});
  refuse(2, "eval", with(shape(), {"run"}), {"not both"});
  refuse(2, "eval", with(shape(), {"--data", images(), "--checkpoint", "best"}),
         {"--checkpoint", "leave it out"});
  refuse(2, "eval", {"run", "--set", "model.input.size=3"}, {"--set is for"});
  refuse(2, "eval", with(shape(), {"--data", images(), "--set", "loss.k=1"}),
         {"unknown key 'loss'"});
}

// 640 GB of weights, said by the description beside a small file.
TEST_F(PublishedCommand, ANetworkThatIsLargerThanItsFileIsRefused) {
  const TempDir folder;
  fs::copy_file(weights(), folder.file("model.safetensors"));
  folder.write("config.json",
               R"({"model_type": "dinov2", "hidden_size": 8192,
                   "num_attention_heads": 64, "num_hidden_layers": 200})");
  const std::vector<std::string_view> parts = {
      "config.json: describes a network of more than", "MB are too small"};
  refuse(1, "eval", {"--weights", folder.path(), "--data", images()}, parts);
  refuse(1, "export", {"--weights", folder.path(), "--out", folder.file("out")},
         parts);
  const std::string config = folder.write(
      "train.yaml", "data: {name: folder, path: " + images() +
                        "}\nmodel: {weights: " + folder.path() + "}\n");
  expect_failure(1, train_arguments(config, folder.file("run")), parts);
}

// A network that is random in part would give a number, and a wrong one.
TEST_F(PublishedCommand, WeightsThatDoNotFitAreRefused) {
  const std::vector<std::string> wide = {"--set", "model.backbone.width=9",
                                         "--data", images()};
  refuse(1, "eval", with(shape(), wide),
         {"small.safetensors", "no tensor fits the model"});
  const SafetensorsFile whole(weights());
  std::vector<std::pair<std::string, Array>> kept;
  for (const SafetensorsEntry& entry : whole.entries()) {
    if (entry.name == "model.backbone.block1_norm.bias") continue;
    kept.emplace_back(entry.name, whole.read(entry.name));
  }
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const auto& [name, array] : kept) views.emplace_back(name, array);
  const std::string file = folder_->file("part.safetensors");
  write_safetensors(file, views);
  std::vector<std::string> flags = shape();
  flags[3] = file;
  refuse(
      1, "eval", with(flags, {"--data", images()}),
      {"part.safetensors", "missing 1: block1_norm.bias", "would stay random"});
}

}  // namespace
}  // namespace kith
