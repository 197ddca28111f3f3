// `kith train`, and `eval` and `embed` of what it made.

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/io/npy.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

void check_log(const std::string& path, int steps) {
  std::istringstream lines(contents(path));
  std::string line;
  int step = 0;
  int evaluations = 0;
  while (std::getline(lines, line)) {
    const Json record = Json::parse(line);
    if (record.at("kind") == "eval") {
      ++evaluations;
      continue;
    }
    EXPECT_EQ(record.at("kind"), "step");
    EXPECT_EQ(record.at("step"), ++step);
    EXPECT_TRUE(record.at("loss").is_number());
    for (const char* phase :
         {"data", "forward", "loss", "backward", "optimizer"}) {
      EXPECT_GE(record.at("seconds").at(phase).get<double>(), 0) << line;
    }
  }
  EXPECT_EQ(step, steps);
  EXPECT_GE(evaluations, 1);
}

void check_embeddings(const std::string& run, const TempDir& folder) {
  const std::string images = folder.file("images");
  expect_success({"data", "make", "glyphs", "--out", images, "--classes", "3",
                  "--per-class", "2"});
  const std::string out = folder.file("emb.npy");
  const std::string ids = folder.file("ids.txt");
  const Json json = Json::parse(
      expect_success({"embed", run, "--images", images + "/dataset.csv",
                      "--out", out, "--ids", ids, "--json"})
          .out);
  EXPECT_EQ(json.at("images"), 6);
  EXPECT_EQ(json.at("dim"), 16);
  EXPECT_EQ(count_lines(ids), 6);
  EXPECT_THAT(contents(ids), HasSubstr(images + "/images/0002/001.png\n"));
  const Array embeddings = read_npy(out);
  EXPECT_EQ(embeddings.dtype, DType::kF32);
  ASSERT_EQ(embeddings.shape, (std::vector<int64_t>{6, 16}));
  for (size_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (const float x : embeddings.values<float>().subspan(row * 16, 16)) {
      sum += double{x} * x;
    }
    EXPECT_NEAR(sum, 1, 1e-5) << "row " << row;
  }
}

/// What --json prints has every metric of the run's metrics.json.
void expect_metrics(const Json& printed, const Json& stored) {
  EXPECT_FALSE(stored.empty());
  for (const auto& [name, value] : stored.items()) {
    EXPECT_EQ(printed.at(name), value) << name;
  }
}

TEST(TrainCommand, WritesARunThatCanBeUsed) {
  const TempDir folder;
  const std::string config = folder.write("tiny.yaml", kTinyConfig);
  const std::string run = folder.file("run");
  const ProgramResult trained =
      expect_success(train_arguments(config, run, {"--json"}));
  check_log(run + "/log.jsonl", 6);
  EXPECT_THAT(trained.err,
              HasSubstr("from defaults: loss.name: recall_at_k; "));
  EXPECT_THAT(trained.err, HasSubstr(" epoch 1/2  3/3  mean loss "));
  EXPECT_THAT(trained.err, HasSubstr(" epoch 2/2  3/3  mean loss "));
  EXPECT_TRUE(std::filesystem::exists(run + "/checkpoints/last.safetensors"));
  const std::string text = contents(run + "/metrics.json");
  EXPECT_THAT(text, Not(HasSubstr("second")));
  EXPECT_THAT(text, Not(HasSubstr("time")));
  const Json last = Json::parse(text).at("last");
  expect_metrics(Json::parse(trained.out), last.at("metrics"));

  // The run's own configuration is complete: it says what was trained.
  EXPECT_EQ(
      expect_success({"train", run + "/config.yaml", "--print-config"}).out,
      contents(run + "/config.yaml"));

  const Json evaluated =
      Json::parse(expect_success({"eval", run, "--device", "cpu", "--threads",
                                  "1", "--json"})
                      .out);
  expect_metrics(evaluated, last.at("metrics"));
  EXPECT_EQ(evaluated.at("protocol").at("queries"), 48);
  check_embeddings(run, folder);

  expect_failure(2, train_arguments(config, run),
                 {run, "already holds a run", "--resume", "--out"});
  expect_failure(
      2, train_arguments(config, run, {"--resume", "--set", "loss.t2=0.5"}),
      {"'loss.t2'", "differs", run + "/config.yaml"});
}

TEST(TrainCommand, PrintsTheWholeConfiguration) {
  const TempDir folder;
  const std::string config = folder.write("tiny.yaml", kTinyConfig);
  // An option may come before the file it changes.
  const std::string text =
      expect_success({"train", "--print-config", "--set", "loss.t2=0.25",
                      "--seed", "5", config})
          .out;
  for (const char* section :
       {"data", "sampler", "augment", "model", "loss", "miner", "optimizer",
        "schedule", "train", "eval", "log"}) {
    EXPECT_THAT("\n" + text, HasSubstr(std::string("\n") + section + ":"));
  }
  EXPECT_THAT(text, HasSubstr("  t2: 0.25\n"));
  EXPECT_THAT(text, HasSubstr("  seed: 5\n"));
  const std::string again = folder.write("again.yaml", text);
  EXPECT_EQ(expect_success({"train", again, "--print-config"}).out, text);
}

TEST(TrainCommand, DryRunTellsWhatARunTakesAndKeepsNothing) {
  const TempDir folder;
  const std::string config = folder.file("tiny.yaml");
  write_file(config, kTinyConfig);
  const std::string run = folder.file("run");
  const ProgramResult result =
      expect_success(train_arguments(config, run, {"--dry-run"}));
  const std::string& text = result.out;
  EXPECT_THAT(result.err, HasSubstr("from defaults: loss.name: recall_at_k; "));
  for (const char* part : {"6, 3 an epoch, of 16 images each", "images/s",
                           "memory", "evaluations of 48 images"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const Json json =
      Json::parse(expect_success(train_arguments(config, run,
                                                 {"--dry-run", "--json",
                                                  "--set", "train.sub_batch=5",
                                                  "--set", "model.bn=stats"}))
                      .out);
  EXPECT_EQ(json.at("steps"), 6);
  EXPECT_EQ(json.at("chunks"), 4);
  EXPECT_GT(json.at("peak_mb").at("backward"), 0);
  EXPECT_GT(json.at("step_seconds").at("forward"), 0);
  EXPECT_FALSE(std::filesystem::exists(run));
}

TEST(TrainCommand, SelectsOnHeldOutClassesAndShowsPublishedNumbers) {
  const TempDir folder;
  const std::string config = folder.file("tiny.yaml");
  write_file(config, kTinyConfig);
  const std::string run = folder.file("run");
  const ProgramResult result = expect_success(train_arguments(
      config, run,
      {"--set", "train.validation=0.34", "--set", "eval.every=1", "--set",
       "published={source: a paper, recall_any@1: 80.7}"}));
  EXPECT_THAT(result.err, HasSubstr("chosen on held-out classes: epoch"));
  EXPECT_THAT(result.err, HasSubstr("images/s"));
  EXPECT_THAT(result.err, HasSubstr("\n  recall_any@1"));  // lines of a table
  EXPECT_THAT(result.out, HasSubstr("published"));
  EXPECT_THAT(result.out, HasSubstr("80.70%"));
  EXPECT_THAT(result.out, HasSubstr("published: a paper"));
  EXPECT_TRUE(std::filesystem::exists(run + "/selection/metrics.json"));
  EXPECT_EQ(Json::parse(contents(run + "/metrics.json")).at("split"), "test");
  EXPECT_THAT(expect_success({"eval", run, "--device", "cpu"}).out,
              HasSubstr("80.70%"));
  expect_failure(2, train_arguments(config, run), {"already holds a run"});
}

TEST(TrainCommand, NamesAWeightFileThatDoesNotFit) {
  const TempDir folder;
  const std::string config = folder.file("tiny.yaml");
  write_file(config, kTinyConfig);
  const std::string run = folder.file("run");
  const std::string missing = folder.file("missing.pth");
  expect_failure(
      1, train_arguments(config, run, {"--set", "model.weights=" + missing}),
      {"missing.pth"});
  const std::string text = folder.file("text.pth");
  write_file(text, "not a weight file");
  expect_failure(
      1, train_arguments(config, run, {"--set", "model.weights=" + text}),
      {"text.pth"});
}

TEST(TrainCommand, NamesTheLineAndKeyThatAreWrong) {
  const TempDir folder;
  const auto refused = [&](const std::string& text,
                           const std::vector<std::string_view>& parts) {
    const std::string config = folder.write("c.yaml", text);
    expect_failure(2, train_arguments(config, folder.file("run")), parts);
  };
  refused("data: {name: glyphs}\ntrain:\n  epochs: 2\n  epocs: 3\n",
          {"c.yaml:4:", "'train.epocs'", "did you mean 'epochs'?"});
  refused("data: {name: glyphs}\ntrain:\n  epochs: many\n",
          {"c.yaml:3:", "'train.epochs' must be int", "'many'"});
  refused("data: {name: glyphs}\n\ntrian: {epochs: 2}\n",
          {"c.yaml:3:", "'trian'", "did you mean 'train'?"});
  refused("data: {name: glyphs}\nloss:\n  name: recal_at_k\n",
          {"c.yaml:3:", "'recal_at_k'", "did you mean 'recall_at_k'?"});
  refused("train: {epochs: 2}\n", {"c.yaml:1:", "'data'", "glyphs"});
  refused("data: {name: glyphs\n", {"c.yaml", "not valid YAML"});
  EXPECT_FALSE(std::filesystem::exists(folder.file("run")));
}

TEST(TrainCommand, NamesTheOverrideThatIsWrong) {
  const TempDir folder;
  const std::string config = folder.write("tiny.yaml", kTinyConfig);
  const std::string run = folder.file("run");
  expect_failure(2, train_arguments(config, run, {"--set", "model.head.dmi=2"}),
                 {"--set model.head.dmi=2", "did you mean 'dim'?"});
  expect_failure(2, train_arguments(config, run, {"--set", "train.epochs"}),
                 {"--set train.epochs", "KEY=VALUE"});
  const std::string missing = folder.file("missing.yaml");
  expect_failure(1, train_arguments(missing, run), {missing, "No such file"});
}

TEST(TrainCommand, ARateThatIsFarTooHighIsNoPerfectResult) {
  const TempDir folder;
  const std::string config = folder.write("tiny.yaml", kTinyConfig);
  for (const char* rate : {"1e6", "1e20"}) {
    const std::string out = folder.file(std::string("run-") + rate);
    const ProgramResult result = run_kith(train_arguments(
        config, out,
        {"--set", "optimizer={name: adam, lr: " + std::string(rate) + "}",
         "--set", "schedule={name: constant}", "--set", "train.steps=1"}));
    // Whether the network still gives numbers depends on the rate; if not, the
    // run must say so.
    if (result.exit_code == 0) {
      const Json last = Json::parse(contents(out + "/metrics.json")).at("last");
      for (const auto& [name, value] : last.at("metrics").items()) {
        EXPECT_LE(value.get<double>(), 1) << name;
      }
      continue;
    }
    EXPECT_THAT(result.err, HasSubstr("optimizer.lr"));
    EXPECT_FALSE(std::filesystem::exists(out + "/metrics.json"));
  }
}

/// Trains on image files: eight characters, four drawings each.
class TrainCommandOnFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    expect_success({"data", "make", "glyphs", "--out", folder_.path(),
                    "--classes", "8", "--per-class", "4"});
    config_ = folder_.write(
        "c.yaml", "data: {name: csv, path: " + folder_.path() +
                      "}\nsampler: {batch: 8, per_class: 2}\n"
                      "model: {input: {size: 16}, backbone: {width: 8}}\n"
                      "train: {epochs: 1}\n");
  }

  /// Replaces text in the list.
  void edit(const std::string& from, const std::string& to) {
    std::string list = contents(folder_.file("dataset.csv"));
    for (size_t at = list.find(from); at != std::string::npos;
         at = list.find(from, at + to.size())) {
      list.replace(at, from.size(), to);
    }
    folder_.write("dataset.csv", list);
  }

  std::vector<std::string> train() const {
    return train_arguments(config_, folder_.file("run"));
  }

  TempDir folder_;
  std::string config_;
};

TEST_F(TrainCommandOnFiles, RefusesAnEmptyTrainingSplit) {
  edit(",train", ",validation");
  expect_failure(1, train(), {"train split", folder_.path()});
}

TEST_F(TrainCommandOnFiles, RefusesAnEmptyTestSplitBeforeItTrains) {
  edit(",test", ",train");
  expect_failure(1, train(), {"test split", "eval.split"});
  EXPECT_EQ(count_lines(folder_.file("run/log.jsonl")), 0);
}

TEST_F(TrainCommandOnFiles, LeavesOutAClassWithOneImage) {
  const std::string list = contents(folder_.file("dataset.csv"));
  folder_.write("dataset.csv", list + "images/0000/000.png,77,train\n");
  const ProgramResult result = expect_success(train());
  EXPECT_THAT(result.err, HasSubstr("warning: 1 classes have fewer than"));
  EXPECT_THAT(result.err, HasSubstr("77 (1)"));
}

TEST_F(TrainCommandOnFiles, NamesATruncatedImage) {
  const std::string image = folder_.file("images/0001/002.png");
  folder_.write("images/0001/002.png",
                contents(image).substr(0, contents(image).size() / 2));
  expect_failure(1, train(), {image, "truncated"});
}

}  // namespace
}  // namespace kith
