// Thresholds from `kith eval` and `kith metrics` to `kith index` and `search`.

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "kith/io/csv.h"
#include "kith/io/npy.h"
#include "tests/cli/searched_run.h"
#include "tests/support/markup.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMostOfAFile = uint64_t{1} << 24;

class ThresholdCommand : public SearchedRun {
 protected:
  static std::vector<std::string> eval(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"eval",      run(), "--device",    "cpu",
                                    "--threads", "1",   "--bootstrap", "100"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static std::string own() {
    return run() + "/eval/last-epoch-1-test-standard";
  }

  static Json threshold_file() {
    return Json::parse(read_file(own() + "/threshold.json", kMostOfAFile));
  }

  /// Items around the axes of the plane: similarities are known.
  static std::string angles(const std::string& name,
                            const std::vector<double>& degrees,
                            const std::vector<int64_t>& labels) {
    const auto count = static_cast<int64_t>(degrees.size());
    Array rows = make_array(DType::kF32, {count, 2});
    Array classes = make_array(DType::kI64, {count});
    for (size_t i = 0; i < degrees.size(); ++i) {
      const double angle = degrees[i] * std::acos(-1.0) / 180;
      rows.values<float>()[2 * i] = static_cast<float>(std::cos(angle));
      rows.values<float>()[2 * i + 1] = static_cast<float>(std::sin(angle));
      classes.values<int64_t>()[i] = labels[i];
    }
    write_npy(file(name + ".npy"), rows);
    write_npy(file(name + "-labels.npy"), classes);
    return file(name);
  }
};

TEST_F(ThresholdCommand, IsPickedOnASplitAndReportedOnAnother) {
  const ProgramResult result = expect_success(
      eval({"--threshold", "far=0.05", "--threshold-split", "train"}));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\nthreshold "),
                    HasSubstr("at most 5% of the pairs of two classes are "
                              "accepted, picked on the train split"),
                    HasSubstr("\nfar "), HasSubstr("\ntpir "),
                    HasSubstr("metrics.json, threshold.json"),
                    Not(HasSubstr("on the same images"))));
  const Json metrics =
      Json::parse(read_file(own() + "/metrics.json", kMostOfAFile));
  const Json& threshold = metrics.at("threshold");
  EXPECT_EQ(threshold.at("picked_on"), "the train split");
  EXPECT_EQ(threshold.at("same_images"), false);
  EXPECT_EQ(threshold.at("wanted"), "far=0.05");
  EXPECT_EQ(threshold.at("classes"), 6);
  EXPECT_EQ(threshold.at("positive_pairs"), 6 * 8 * 7 / 2);
  EXPECT_EQ(threshold.at("negative_pairs"), 48 * 47 / 2 - 6 * 8 * 7 / 2);
  EXPECT_EQ(threshold.at("unknown_classes"), 3);
  EXPECT_EQ(threshold.at("mated"), 24);
  EXPECT_EQ(threshold.at("non_mated"), 24);
  EXPECT_EQ(threshold.at("interval").size(), 2U);
  EXPECT_EQ(threshold.at("intervals").size(), 8U);
  EXPECT_EQ(threshold.at("definitions").size(), 8U);
  const size_t points = threshold.at("curve").at("threshold").size();
  EXPECT_EQ(threshold.at("curve").at("tpir").size(), points);
  const Json file = threshold_file();
  EXPECT_EQ(file.at("threshold"), threshold.at("value"));
  EXPECT_EQ(file.at("model"), run());
  EXPECT_EQ(file.at("picked_on"), "the train split");
  EXPECT_FALSE(file.at("model_hash").get<std::string>().empty());
  // The same bytes every time.
  const std::string first = read_file(own() + "/metrics.json", kMostOfAFile);
  EXPECT_EQ(expect_success(
                eval({"--threshold", "far=0.05", "--threshold-split", "train"}))
                .out,
            result.out);
  EXPECT_EQ(read_file(own() + "/metrics.json", kMostOfAFile), first);
}

TEST_F(ThresholdCommand, SeveralRanksGiveTheNumbersOfOne) {
  const std::vector<std::string> one =
      eval({"--threshold", "far=0.05", "--json"});
  std::vector<std::string> two = one;
  two.insert(two.end(), {"--ranks", "2"});
  EXPECT_EQ(Json::parse(expect_success(two).out).at("threshold"),
            Json::parse(expect_success(one).out).at("threshold"));
}

TEST_F(ThresholdCommand, SaysThatItWasPickedOnTheSameImages) {
  const std::string out =
      expect_success(eval({"--threshold", "fpir=0.25"})).out;
  EXPECT_THAT(out, HasSubstr("Picked and reported on the same images"));
  EXPECT_THAT(out, HasSubstr("Intervals of 6 classes are likely to be too "
                             "narrow"));
  const std::string markdown =
      expect_success(eval({"--threshold", "fpir=0.25", "--format", "markdown"}))
          .out;
  EXPECT_THAT(markdown, AllOf(HasSubstr("| threshold | FAR | TAR | AUROC |"),
                              HasSubstr("Threshold: the least at which")));
  const std::string csv =
      expect_success(eval({"--threshold", "fpir=0.25", "--format", "csv",
                           "--corruptions", "jpeg"}))
          .out;
  const std::string line = csv.substr(0, csv.find('\n'));
  EXPECT_THAT(line, HasSubstr(",threshold,threshold half width,far,"));
  const auto commas = std::count(line.begin(), line.end(), ',');
  std::istringstream lines(csv);
  for (std::string row; std::getline(lines, row);) {
    if (row.find('"') == std::string::npos) {
      EXPECT_EQ(std::count(row.begin(), row.end(), ','), commas) << row;
    }
  }
}

TEST_F(ThresholdCommand, UnknownClassesMayBeNamed) {
  const Json known = json_of(eval({"--threshold", "0.5"}));
  const std::string index = indexed("names.faiss");
  const std::string label =
      read_csv(index + ".items.csv").rows().at(0).fields.at(1);
  const std::string names = folder_->write("unknown.txt", label + "\n");
  const Json one =
      json_of(eval({"--threshold", "0.5", "--unknown-classes", names}));
  EXPECT_EQ(one.at("threshold").at("unknown_classes"), 1);
  EXPECT_EQ(one.at("threshold").at("non_mated"), 8);
  EXPECT_EQ(one.at("threshold").at("far"), known.at("threshold").at("far"));
  expect_failure(1,
                 eval({"--threshold", "0.5", "--unknown-classes",
                       folder_->write("wrong.txt", label + "\nno such\n")}),
                 {"wrong.txt:2", "'no such' is no class"});
  expect_failure(2, eval({"--threshold", "0.5", "--unknown-classes", "1.5"}),
                 {"--unknown-classes 1.5"});
}

TEST_F(ThresholdCommand, WrongWishesAreRefused) {
  expect_failure(2, eval({"--threshold", "tar=0.1"}),
                 {"--threshold tar=0.1: expected far=RATE"});
  expect_failure(2, eval({"--threshold-split", "train"}), {"--threshold"});
  expect_failure(2, eval({"--threshold", "0.5", "--threshold-split", "train"}),
                 {"--threshold-split goes with a rate"});
  expect_failure(1, eval({"--threshold", "far=0.0001"}),
                 {"--threshold: 960 pairs of two classes cannot show a "
                  "false-accept rate of 0.0001"});
  expect_failure(
      1, eval({"--threshold", "far=0.1", "--threshold-split", "validation"}),
      {"validation"});
}

TEST_F(ThresholdCommand, AnIndexAnswersByIt) {
  expect_success(eval({"--threshold", "far=0.05"}));
  const double threshold = threshold_file().at("threshold");
  const std::string index = file("threshold.faiss");
  const std::string out =
      expect_success({"index", run(), "--out", index, "--threshold",
                      own() + "/threshold.json", "--overwrite"})
          .out;
  EXPECT_THAT(out, HasSubstr("(far=0.05, picked on the test split)"));
  EXPECT_THAT(expect_success({"index", "info", index}).out,
              HasSubstr("answers     from the threshold "));
  // It stays when the index is made again.
  const std::string again = file("again.faiss");
  expect_success({"index", index, "--out", again, "--overwrite"});
  const std::string image =
      read_csv(index + ".items.csv").rows().at(0).fields.at(0);
  const Json json = json_of({"search", "--index", again, "--image", image, "-k",
                             "48", "--threads", "1"});
  EXPECT_EQ(json.at("threshold"), threshold);
  const Json& query = json.at("queries").at(0);
  EXPECT_EQ(query.at("accepted"), true);
  int accepted = 0;
  for (const Json& result : query.at("results")) {
    const bool is_accepted = result.at("similarity").get<double>() >= threshold;
    EXPECT_EQ(result.at("accepted"), is_accepted);
    accepted += is_accepted;
  }
  ASSERT_GT(accepted, 0);
  ASSERT_LT(accepted, 48);
  EXPECT_THAT(
      expect_success({"search", "--index", again, "--image", image, "-k", "48"})
          .out,
      HasSubstr(std::to_string(48 - accepted) + " more below the threshold"));
  const Json all = json_of({"search", "--index", again, "--image", image, "-k",
                            "48", "--threshold", "-1"});
  for (const Json& result : all.at("queries").at(0).at("results")) {
    EXPECT_EQ(result.at("accepted"), true);
  }
}

TEST_F(ThresholdCommand, NothingLikeThisIsAnAnswer) {
  const std::string items = angles("items", {0, 10, 90, 100}, {0, 0, 1, 1});
  const std::string index = file("angles.faiss");
  expect_success({"index", items + ".npy", "--out", index, "--overwrite"});
  const std::string far = angles("far", {45, 2}, {0, 0});
  const std::vector<std::string> search = {
      "search", "--index", index,         "--embeddings", far + ".npy",
      "-k",     "4",       "--threshold", "0.9"};
  const std::string out = expect_success(search).out;
  EXPECT_THAT(out, HasSubstr("0\n  nothing like this here: the nearest, 1, has "
                             "0.8192, below the threshold 0.9000\n1\n"));
  EXPECT_THAT(out, HasSubstr("  2 more below the threshold 0.9000"));
  const Json json = json_of(search);
  EXPECT_EQ(json.at("queries").at(0).at("accepted"), false);
  EXPECT_EQ(json.at("queries").at(0).at("results").size(), 4U);
  EXPECT_EQ(json.at("queries").at(1).at("accepted"), true);
  std::vector<std::string> page = search;
  page.insert(page.end(), {"--html", file("unlike.html")});
  expect_success(page);
  const std::string html = read_file(file("unlike.html"), kMostOfAFile);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_THAT(html, HasSubstr("<p>Nothing like this here: the nearest, 1, has "
                              "0.8192, below the threshold 0.9000.</p>"));
  EXPECT_THAT(html, HasSubstr("of at least 0.9000."));
}

TEST_F(ThresholdCommand, AnotherModelsIsRefused) {
  expect_success(eval({"--threshold", "far=0.05"}));
  Json other = threshold_file();
  other["model_hash"] = "0123";
  const std::string path = folder_->write("other.json", other.dump());
  expect_failure(
      1, {"index", run(), "--out", file("other.faiss"), "--threshold", path},
      {path, "not the weights"});
  const std::string index = indexed("run.faiss");
  const std::string image =
      read_csv(index + ".items.csv").rows().at(0).fields.at(0);
  expect_failure(
      1, {"search", "--index", index, "--image", image, "--threshold", path},
      {path, "not the weights"});
  expect_failure(
      1, {"serve", "--index", index, "--port", "0", "--threshold", path},
      {path, "not the weights"});
  other = threshold_file();
  other["descriptor"] = "flip";
  const std::string flipped = folder_->write("flipped.json", other.dump());
  expect_failure(
      1, {"search", "--index", index, "--image", image, "--threshold", flipped},
      {"described otherwise (flip)"});
  expect_failure(1,
                 {"search", "--index", index, "--image", image, "--threshold",
                  folder_->write("none.json", "{}")},
                 {"none.json: not the threshold.json"});
  for (const char* wrong : {"2", "far=0.1", "no-such.json"}) {
    expect_failure(
        2, {"search", "--index", index, "--image", image, "--threshold", wrong},
        {std::string("--threshold ") + wrong});
  }
  expect_failure(
      2, {"serve", "--index", index, "--port", "0", "--threshold", "birds=0.5"},
      {"--threshold birds=0.5: there is no --index birds=FILE"});
}

TEST_F(ThresholdCommand, EmbeddingsFromElsewhere) {
  // Similarities of pairs: cos of 2, 4, 6 degrees within, of 84 to 96 between.
  const std::string items =
      angles("pairs", {0, 4, 90, 96, 180, 182}, {0, 0, 1, 1, 2, 2});
  const std::string picked =
      angles("picked", {0, 8, 60, 68, 180, 188}, {7, 7, 8, 8, 9, 9});
  const Json json = json_of(
      {"metrics", "--embeddings", items + ".npy", "--labels",
       items + "-labels.npy", "--threshold", "far=0.1",
       "--threshold-embeddings", picked + ".npy", "--threshold-labels",
       picked + "-labels.npy", "--threshold-out", file("out/threshold.json")});
  // Of 12 pairs of two classes one may be accepted: that of 52 degrees. Those
  // of 60 may not.
  const Json& threshold = json.at("threshold");
  const double t = threshold.at("value");
  EXPECT_NEAR(t, 0.5, 2e-6);
  EXPECT_EQ(threshold.at("far"), 0);
  for (const char* rate : {"tar", "auroc", "auprc", "precision", "coverage"}) {
    EXPECT_EQ(threshold.at(rate), 1) << rate;
  }
  const Json file_json =
      Json::parse(read_file(file("out/threshold.json"), kMostOfAFile));
  EXPECT_EQ(file_json.at("threshold"), t);
  EXPECT_EQ(file_json.at("model_hash"), "");
  const std::string index = file("elsewhere.faiss");
  const ProgramResult made =
      expect_success({"index", items + ".npy", "--out", index, "--overwrite",
                      "--threshold", file("out/threshold.json")});
  EXPECT_THAT(made.err, HasSubstr("it is not known whether"));
  expect_failure(2,
                 {"metrics", "--embeddings", items + ".npy", "--labels",
                  items + "-labels.npy", "--threshold-out", "x"},
                 {"--threshold"});
}

TEST_F(ThresholdCommand, TheReportDrawsIt) {
  expect_success(eval({"--threshold", "far=0.05"}));
  const std::string page = file("report.html");
  expect_success({"report", run(), "--no-network", "--out", page});
  const std::string html = read_file(page, kMostOfAFile);
  EXPECT_EQ(markup_fault(html), "");
  for (const char* part : {"id=\"threshold\"", "data-chart=\"threshold-0\"",
                           "data-chart=\"errors-0\"", "AUROC of pairs",
                           "Picked and reported on the same images"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

}  // namespace
}  // namespace kith
