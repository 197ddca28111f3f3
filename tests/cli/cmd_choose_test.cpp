// Which network of a run the commands take, and what a training says of the
// splits that it chose and was tested on.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "kith/io/csv.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// A run of four epochs, of which all are kept, on images with validation rows.
class ChooseCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir();
    expect_success({"data", "make", "glyphs", "--out", images(), "--classes",
                    "12", "--per-class", "8"});
    make_validation_rows();
    folder_->write("tiny.yaml", kTinyConfig);
    trained_ = new ProgramResult(expect_success(train(
        run(), {"train.epochs=4", "train.keep_every=1", "eval.every=1"})));
  }
  static void TearDownTestSuite() {
    delete trained_;
    delete folder_;
  }

  /// Three of the six test classes validate.
  static void make_validation_rows() {
    const std::string file = images() + "/dataset.csv";
    std::string text = read_file(file, 1 << 20);
    const std::string from = ",test", to = ",validation";
    int count = 0;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
      if (count++ == 24) break;
      text.replace(at, from.size(), to);
      at += to.size();
    }
    write_file_atomically(file, text);
  }

  static std::vector<std::string> train(
      const std::string& out, const std::vector<std::string>& settings,
      const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = train_arguments(
        file("tiny.yaml"), out,
        {"--set", "data={name: csv, path: '" + images() + "'}"});
    for (const std::string& one : settings) {
      all.insert(all.end(), {"--set", one});
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static std::string file(const std::string& name) {
    return folder_->file(name);
  }
  static std::string run() { return file("run"); }
  static std::string images() { return file("images"); }
  static std::string picture() { return images() + "/images/0000/000.png"; }

  static Json metrics(const std::string& folder) {
    return Json::parse(read_file(folder + "/metrics.json", 1 << 24));
  }

  /// The bytes of the embeddings of the images.
  static std::string embeddings(const std::string& model,
                                const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {
        "embed",          model,      "--images", images(),    "--out",
        file("rows.npy"), "--device", "cpu",      "--threads", "1"};
    all.insert(all.end(), more.begin(), more.end());
    const ProgramResult result = expect_success(all);
    said_ = result.out;
    return read_file(file("rows.npy"), 1 << 20);
  }

  static inline TempDir* folder_ = nullptr;
  static inline ProgramResult* trained_ = nullptr;
  static inline std::string said_ = {};
};

TEST_F(ChooseCommand, TrainingLabelsBothSplits) {
  const Json json = metrics(run());
  EXPECT_EQ(json.at("split"), "validation");
  EXPECT_EQ(json.at("best").at("chosen_on"), "validation");
  EXPECT_EQ(json.at("test").at("split"), "test");
  EXPECT_EQ(json.at("test").at("epoch"), json.at("best").at("epoch"));
  EXPECT_EQ(json.at("test").at("queries"), 24);
  const std::string epoch =
      std::to_string(json.at("best").at("epoch").get<int>());
  EXPECT_THAT(trained_->out, HasSubstr("last checkpoint (epoch 4), validation "
                                       "split, protocol standard\n"));
  EXPECT_THAT(trained_->out,
              HasSubstr("best checkpoint (epoch " + epoch +
                        "), test split, protocol standard, chosen on "
                        "validation\n"));
  EXPECT_THAT(trained_->err, HasSubstr("after epoch 4, step 12: validation "
                                       "split, protocol standard"));
  EXPECT_THAT(trained_->err, Not(HasSubstr("picked on the test split")));
}

TEST_F(ChooseCommand, TheScoreOfTheEndIsThatOfEval) {
  const ProgramResult eval =
      expect_success({"eval", run(), "--checkpoint", "best", "--split", "test",
                      "--json", "--device", "cpu", "--threads", "1"});
  const Json json = Json::parse(eval.out);
  EXPECT_EQ(json.at("recall_any@1"),
            metrics(run()).at("test").at("metrics").at("recall_any@1"));
  EXPECT_EQ(json.at("checkpoint").at("name"), "best");
  const std::string page = file("page.html");
  expect_success({"report", run(), "--out", page, "--no-network"});
  const std::string html = read_file(page, 1 << 24);
  EXPECT_THAT(html, HasSubstr("chosen on the validation split"));
  EXPECT_THAT(html, HasSubstr("Test split"));
}

TEST_F(ChooseCommand, EmbedAndExportTakeAnEpoch) {
  const std::string first = embeddings(run(), {"--checkpoint", "1"});
  EXPECT_THAT(said_, HasSubstr("by the checkpoint of epoch 1 -> "));
  const std::string last = embeddings(run());
  EXPECT_THAT(said_, HasSubstr("by the last checkpoint (epoch 4) -> "));
  EXPECT_NE(first, last);
  EXPECT_EQ(embeddings(run(), {"--checkpoint", "4"}), last);
  expect_success({"export", run(), "--checkpoint", "1", "--out", file("one")});
  EXPECT_EQ(embeddings(file("one")), first);
  const Json model = Json::parse(read_file(file("one/model.json"), 1 << 20));
  EXPECT_EQ(model.at("training").at("epoch"), 1);
  EXPECT_EQ(model.at("training").at("step"), 3);
  expect_failure(2,
                 {"embed", file("one"), "--images", images(), "--out",
                  file("x.npy"), "--checkpoint", "1"},
                 {"--checkpoint chooses one of a run's folder"});
  for (const char* command : {"embed", "export"}) {
    std::vector<std::string> all = {command, run(),   "--checkpoint",
                                    "9",     "--out", file("x")};
    if (command == std::string("embed")) {
      all.insert(all.end(), {"--images", images()});
    }
    expect_failure(1, all,
                   {"the weights of epoch 9 were not kept; there are: last "
                    "(epoch 4), best (epoch ",
                    ", 1, 2, 3, 4. A training with 'train.keep_every'"});
  }
}

TEST_F(ChooseCommand, ReportLooksAtAnEpoch) {
  const ProgramResult result =
      expect_success({"report", run(), "--checkpoint", "2", "--out",
                      file("two.html"), "--device", "cpu"});
  EXPECT_THAT(result.err, HasSubstr("looking at what its checkpoint of epoch 2 "
                                    "finds"));
  EXPECT_THAT(read_file(file("two.html"), 1 << 24),
              HasSubstr("--checkpoint 2"));
}

TEST_F(ChooseCommand, AnIndexIsSearchedWithTheWeightsItWasMadeWith) {
  const std::string index = file("one.faiss");
  const ProgramResult made =
      expect_success({"index", run(), "--checkpoint", "1", "--split", "all",
                      "--out", index, "--device", "cpu"});
  EXPECT_THAT(made.out, HasSubstr("by the checkpoint of epoch 1\n"));
  EXPECT_EQ(Json::parse(read_file(index + ".json", 1 << 20)).at("checkpoint"),
            "1");
  EXPECT_THAT(expect_success({"index", "info", index}).out,
              HasSubstr("network     checkpoint of epoch 1"));
  const std::vector<std::string> search = {
      "search", "--index", index, "--image", picture(), "-k", "1"};
  const ProgramResult found = expect_success(search);
  EXPECT_THAT(found.out, HasSubstr("1.0000"));
  EXPECT_THAT(found.err, HasSubstr(run() + ", checkpoint of epoch 1"));
  std::vector<std::string> other = search;
  other.insert(other.end(), {"--checkpoint", "last"});
  expect_failure(1, other,
                 {"last checkpoint (epoch 4): not the weights that", index,
                  "was made with, the checkpoint of epoch 1", "--checkpoint"});
  expect_failure(1, {"index", "add", run(), "--to", index},
                 {"checkpoint of epoch 1", "last checkpoint (epoch 4)"});
  expect_failure(2,
                 {"search", "--index", index, "--embeddings", "x.npy",
                  "--checkpoint", "1"},
                 {"--checkpoint goes with --image only"});
}

TEST_F(ChooseCommand, AnIndexOfARunThatWentOnSaysSo) {
  const std::string copy = file("copy");
  fs::copy(run(), copy, fs::copy_options::recursive);
  const std::string index = file("last.faiss");
  expect_success(
      {"index", copy, "--split", "all", "--out", index, "--device", "cpu"});
  expect_success({"train", "--resume", "--out", copy, "--set", "train.epochs=5",
                  "--device", "cpu", "--threads", "1"});
  const std::vector<std::string> search = {
      "search", "--index", index, "--image", picture(), "-k", "1"};
  expect_failure(
      1, search,
      {"last checkpoint (epoch 5): not the weights",
       "the last checkpoint (epoch 4)", "the run has been trained on since"});
  std::vector<std::string> fourth = search;
  fourth.insert(fourth.end(), {"--checkpoint", "4"});
  EXPECT_THAT(expect_success(fourth).out, HasSubstr("1.0000"));
}

TEST_F(ChooseCommand, ARunThatPatienceEndedSaysHowToGoOn) {
  const std::string out = file("patient");
  const std::vector<std::string> still = {"train.epochs=9", "train.patience=2",
                                          "eval.every=1", "optimizer.lr=1e-30",
                                          "model.bn=all"};
  const ProgramResult ended = expect_success(train(out, still));
  EXPECT_THAT(ended.err, HasSubstr("ended after epoch 3: recall_any@1 has not "
                                   "been better than "));
  EXPECT_EQ(metrics(out).at("ended_by"), "train.patience");
  const ProgramResult again = expect_success(
      {"train", "--resume", "--out", out, "--device", "cpu", "--threads", "1"});
  EXPECT_THAT(again.err, HasSubstr("resumed with a larger train.patience"));
  EXPECT_THAT(again.err, HasSubstr(" --set train.patience=N"));
  EXPECT_THAT(again.out, HasSubstr("test split, protocol standard, chosen on"));
  expect_failure(2,
                 {"train", "--resume", "--out", out, "--set", "train.epochs=20",
                  "--device", "cpu"},
                 {"'train.epochs' is 20, but the run has ended"});
  expect_success({"train", "--resume", "--out", out, "--set",
                  "train.patience=4", "--device", "cpu", "--threads", "1"});
  EXPECT_EQ(metrics(out).at("last").at("epoch"), 5);
  expect_failure(2, train(file("x"), {"train.patience=2"}),
                 {"'train.patience'", "'eval.every'"});
}

TEST_F(ChooseCommand, TrainSaysTheTestInJson) {
  const ProgramResult result =
      expect_success(train(file("json"), {"train.epochs=1"}, {"--json"}));
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json.at("protocol").at("split"), "validation");
  EXPECT_EQ(json.at("checkpoint").at("name"), "last");
  EXPECT_EQ(json.at("test").at("checkpoint"), "best");
  EXPECT_EQ(json.at("test").at("split"), "test");
}

}  // namespace
}  // namespace kith
