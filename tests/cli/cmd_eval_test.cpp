// `kith eval`: its files, that they are the same every time, and what it says
// to wrong input.

#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "kith/image/decode.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr uint64_t kMost = uint64_t{1} << 28;

/// One tiny trained run for all tests.
class EvalCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir();
    const std::string config = folder_->file("tiny.yaml");
    std::ofstream(config) << kTinyConfig;
    expect_success(train_arguments(config, run()));
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string run() { return folder_->file("run"); }

  static std::vector<std::string> arguments(
      const std::vector<std::string>& more) {
    std::vector<std::string> all = {"eval", run(),       "--device",
                                    "cpu",  "--threads", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// Where the run's own evaluation is.
  static std::string own() {
    return run() + "/eval/last-epoch-2-test-standard";
  }

  static std::string read(const std::string& name) {
    return read_file(own() + "/" + name, kMost);
  }

  static TempDir* folder_;
};

TempDir* EvalCommand::folder_ = nullptr;

TEST_F(EvalCommand, TwiceGivesTheSameBytes) {
  const std::vector<std::string> all = arguments(
      {"--diagnostics", "--corruptions", "--by-class", "--metrics",
       "recall_any@1,4,map,map_at_r,nmi,ami,f1,rho,intra,tar@0.1,spectrum"});
  const std::string out = expect_success(all).out;
  std::vector<std::string> first;
  const std::vector<std::string> names = {"metrics.json", "diagnostics.json",
                                          "corruptions.png"};
  for (const std::string& name : names) first.push_back(read(name));
  EXPECT_EQ(expect_success(all).out, out);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(read(names[i]), first[i]) << names[i];
  }
  EXPECT_EQ(Json::parse(first[0]).at("corruptions").size(), 9u);
}

/// Adds every number of a JSON value, in the forms in which it may be printed.
void add_numbers(const Json& json, std::set<std::string>& texts) {
  if (json.is_structured()) {
    for (const Json& item : json) add_numbers(item, texts);
  } else if (json.is_number()) {
    const double value = json.get<double>();
    char text[64];
    for (const char* format : {"%.2f", "%.4g", "%.0f"}) {
      for (const double factor : {1.0, 100.0}) {
        std::snprintf(text, sizeof(text), format, factor * value);
        texts.insert(text);
      }
    }
  }
}

TEST_F(EvalCommand, EveryPrintedNumberIsInTheFile) {
  const std::string out = expect_success(arguments({})).out;
  const Json json = Json::parse(read("metrics.json"));
  std::set<std::string> known = {"95"};  // of "95% interval"
  add_numbers(json, known);
  // The table: up to the rules, which the file has as a text.
  std::istringstream lines(out);
  std::string line;
  int numbers = 0;
  while (std::getline(lines, line) && line[0] != '(') {
    std::string rest = line.substr(std::min<size_t>(line.size(), 18));
    for (char& c : rest) {
      if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.') c = ' ';
    }
    std::istringstream words(rest);
    for (std::string word; words >> word; ++numbers) {
      EXPECT_TRUE(known.contains(word)) << word << " in: " << line;
    }
  }
  EXPECT_GE(numbers, 12);
  const Json& protocol = json.at("protocol");
  EXPECT_EQ(protocol.at("name"), "standard");
  EXPECT_EQ(protocol.at("split"), "test");
  EXPECT_EQ(protocol.at("queries"), 48);
  EXPECT_THAT(out, HasSubstr(protocol.at("rules").get<std::string>()));
  EXPECT_THAT(out, HasSubstr("recall_any@k: share of queries"));
  EXPECT_THAT(json.at("definitions").at("map_at_r").get<std::string>(),
              HasSubstr("precision"));
  const Json& interval = json.at("intervals").at("recall_any@1");
  EXPECT_LE(interval[0].get<double>(), json.at("recall_any@1").get<double>());
  EXPECT_GE(interval[1].get<double>(), json.at("recall_any@1").get<double>());
}

TEST_F(EvalCommand, ClassesAverageToTheWhole) {
  const Json json =
      Json::parse(expect_success(arguments({"--json", "--by-class"})).out);
  const Json& classes = json.at("by_class");
  double sum = 0;
  int64_t queries = 0;
  for (size_t c = 0; c < classes.at("classes").size(); ++c) {
    const auto count = classes.at("queries")[c].get<int64_t>();
    sum += classes.at("map_at_r")[c].get<double>() * static_cast<double>(count);
    queries += count;
  }
  EXPECT_EQ(classes.at("classes").size(), 6u);
  EXPECT_EQ(queries, 48);
  EXPECT_NEAR(sum / 48, json.at("map_at_r").get<double>(), 1e-12);
}

TEST_F(EvalCommand, CorruptionsHaveATableAndAPicture) {
  const std::string out =
      expect_success(arguments({"--corruptions", "jpeg,rotation"})).out;
  EXPECT_THAT(out, HasSubstr("\nclean "));
  EXPECT_THAT(out, HasSubstr("\njpeg "));
  EXPECT_THAT(out, HasSubstr("\nmean of corrupted "));
  EXPECT_THAT(out, HasSubstr("from the left: the image, jpeg, rotation"));
  const Image grid = decode_image(own() + "/corruptions.png");
  EXPECT_GT(grid.width, 3 * 160);
  EXPECT_LT(grid.width, 4 * 160);
  EXPECT_GT(grid.height, 4 * 160);
  const Json json = Json::parse(read("metrics.json"));
  const Json& corrupted = json.at("corruptions");
  EXPECT_NEAR(json.at("mean_of_corrupted").at("recall_any@1").get<double>(),
              (corrupted.at("jpeg").at("recall_any@1").get<double>() +
               corrupted.at("rotation").at("recall_any@1").get<double>()) /
                  2,
              1e-12);
}

TEST_F(EvalCommand, SmallerVectorsHaveATable) {
  const std::vector<std::string> all =
      arguments({"--compress", "float16,dim:8,pca:8+int8,binary,pq:4:4",
                 "--metrics", "recall_any@1,map_at_r,rho", "--bootstrap", "0"});
  const std::string out = expect_success(all).out;
  EXPECT_THAT(out, HasSubstr("\nvectors "));
  EXPECT_THAT(out, HasSubstr("\nfloat32 "));
  EXPECT_THAT(out, HasSubstr("\npca:8+int8 "));
  const std::string text = read("metrics.json");
  const Json json = Json::parse(text);
  const Json& forms = json.at("compressed");
  const std::map<std::string, int64_t> bytes = {
      {"float32", 64},   {"float16", 32}, {"dim:8", 32},
      {"pca:8+int8", 8}, {"binary", 2},   {"pq:4:4", 2}};
  ASSERT_EQ(forms.size(), bytes.size());
  for (const auto& [form, of_item] : bytes) {
    EXPECT_EQ(forms.at(form).at("bytes"), of_item);
    const Json& metrics = forms.at(form).at("metrics");
    EXPECT_EQ(metrics.size(), 2u) << "those of rankings";
    EXPECT_GT(metrics.at("map_at_r"), 0);
  }
  EXPECT_EQ(forms.at("float32").at("metrics").at("map_at_r"),
            json.at("map_at_r"));
  EXPECT_THAT(json.at("protocol").at("compressed").get<std::string>(),
              HasSubstr("learnt from 48 embeddings"));
  EXPECT_EQ(expect_success(all).out, out);
  EXPECT_EQ(read("metrics.json"), text);
  // The first numbers as the whole evaluation has them.
  const Json first = Json::parse(
      expect_success(arguments({"--dim", "8", "--json", "--metrics", "map_at_r",
                                "--out", folder_->file("first")}))
          .out);
  EXPECT_NEAR(first.at("map_at_r").get<double>(),
              forms.at("dim:8").at("metrics").at("map_at_r").get<double>(),
              1e-6);
  EXPECT_EQ(first.at("descriptor"), "first 8 numbers");
  const std::string table =
      expect_success(arguments({"--compress", "binary", "--metrics",
                                "recall_any@1", "--format", "csv"}))
          .out;
  EXPECT_THAT(table, HasSubstr(",vectors,bytes\n"));
  EXPECT_THAT(table, HasSubstr(",float32,64\n"));
  EXPECT_THAT(table, HasSubstr(",binary,2\n"));
  EXPECT_THAT(
      expect_success(arguments({"--compress", "binary", "--metrics",
                                "recall_any@1", "--format", "markdown"}))
          .out,
      HasSubstr("| Vectors | Bytes | R@1 |"));
}

TEST_F(EvalCommand, RefusesFormsThatMeanNothing) {
  expect_failure(2, arguments({"--compress", "int"}), {"--compress", "int8"});
  expect_failure(2, arguments({"--compress", "dim:17"}),
                 {"dim:17 of vectors of 16 numbers"});
  expect_failure(2, arguments({"--compress", "int8", "--metrics", "rho"}),
                 {"none of the metrics is one of rankings"});
  expect_failure(2, arguments({"--dim", "17"}), {"embeddings have 16"});
}

TEST_F(EvalCommand, DescriptorsAndWhitening) {
  const Json plain = Json::parse(expect_success(arguments({"--json"})).out);
  const std::string out = folder_->file("descriptors");
  Json learnt = Json::parse(
      expect_success(arguments({"--scales", "1,0.75", "--flip", "--whiten",
                                "train:8", "--out", out, "--json"}))
          .out);
  EXPECT_NE(plain.at("map_at_r"), learnt.at("map_at_r"));
  // A list with commas ends at the next word.
  expect_success({"eval", "--flip", "--scales", "1,0.75", run(), "--device",
                  "cpu", "--threads", "1", "--out", out});
  Json loaded = Json::parse(
      expect_success(arguments({"--scales", "1,0.75", "--flip", "--whiten",
                                out + "/whitening.safetensors", "--json"}))
          .out);
  EXPECT_EQ(learnt.at("descriptor"), "scales 1 0.75, flip, whitened to 8");
  EXPECT_THAT(loaded.at("descriptor").get<std::string>(),
              HasSubstr("whitened by " + out));
  for (Json* json : {&learnt, &loaded}) json->erase("descriptor");
  EXPECT_EQ(loaded, learnt);
}

TEST_F(EvalCommand, WhitensFromPairs) {
  const Json pca = Json::parse(
      expect_success(arguments({"--whiten", "train:4", "--json"})).out);
  const Json pairs = Json::parse(
      expect_success(arguments({"--whiten", "pairs:4", "--json"})).out);
  EXPECT_EQ(pairs.at("descriptor"), "whitened from pairs to 4");
  EXPECT_NE(pairs.at("map_at_r"), pca.at("map_at_r"));
}

// A configuration has the protocol, the scales and the published numbers of its
// own data.
TEST_F(EvalCommand, TestsAsAConfigurationSays) {
  const std::string test = folder_->file("test.yaml");
  std::ofstream(test) << R"(
data: {name: landmarks, classes: 6, per_class: 6}
eval: {protocol: revisited, scales: [1, 0.70710678]}
published: {source: a paper, medium/map_trapezoid: 61.5}
)";
  const std::string out = expect_success(arguments({"--data", test, "--out",
                                                    folder_->file("there")}))
                              .out;
  EXPECT_THAT(out, HasSubstr("protocol revisited"));
  EXPECT_THAT(out, HasSubstr("hard/map_trapezoid"));
  EXPECT_THAT(out, HasSubstr("61.50%"));
  const Json json =
      Json::parse(read_file(folder_->file("there/metrics.json"), kMost));
  EXPECT_EQ(json.at("published").at("source"), "a paper");
}

/// The metrics of the tables below, and a published number of one.
constexpr const char* kTableData = R"(
data: {name: glyphs, classes: 12, per_class: 8}
eval: {metrics: ["recall_any@1,2", map_at_r, intra, spectrum]}
published: {source: A paper, recall_any@1: 61.5}
)";

/// "12.50 ± 1.04", of a metrics.json.
std::string cell(const Json& json, const std::string& metric,
                 const std::string& plus_minus) {
  const Json& interval = json.at("intervals").at(metric);
  const double half = (interval[1].get<double>() - interval[0].get<double>());
  char text[64];
  std::snprintf(text, sizeof(text), "%.2f%s%.2f",
                100 * json.at(metric).get<double>(), plus_minus.c_str(),
                50 * half);
  return text;
}

TEST_F(EvalCommand, TablesToPaste) {
  const std::string data = folder_->file("tables.yaml");
  std::ofstream(data) << kTableData;
  const auto table = [&](const std::string& format,
                         const std::vector<std::string>& more = {}) {
    std::vector<std::string> all =
        arguments({"--data", data, "--split", "test", "--format", format,
                   "--out", folder_->file("tables")});
    all.insert(all.end(), more.begin(), more.end());
    return expect_success(all).out;
  };
  const std::string markdown = table("markdown");
  const Json json =
      Json::parse(read_file(folder_->file("tables/metrics.json"), kMost));
  char intra[32];
  std::snprintf(intra, sizeof(intra), "%.4g", json.at("intra").get<double>());
  EXPECT_EQ(markdown.substr(0, markdown.find("\n\n")),
            "| Model | R@1 | R@2 | MAP@R | intra |\n"
            "|---|---|---|---|---|\n"
            "| run | " +
                cell(json, "recall_any@1", " ± ") + " | " +
                cell(json, "recall_any@2", " ± ") + " | " +
                cell(json, "map_at_r", " ± ") + " | " + intra +
                " |\n"
                "| published | 61.5 | - | - | - |");
  EXPECT_THAT(markdown, HasSubstr("± half of the 95% interval"));
  EXPECT_THAT(
      markdown,
      HasSubstr("published: A paper. Of the last checkpoint (epoch 2), " +
                data + ", test split, protocol standard: 48 queries"));

  const std::string latex = table("latex", {"--corruptions", "jpeg,rotation"});
  EXPECT_THAT(latex,
              HasSubstr("\\begin{tabular}{lrrrr}\n\\toprule\n"
                        "Model & R@1 & R@2 & MAP@R & intra \\\\\n\\midrule\n"
                        "run & " +
                        cell(json, "recall_any@1", " $\\pm$ ") + " & "));
  EXPECT_THAT(latex, HasSubstr("published & 61.5 & - & - & - \\\\\n"
                               "\\bottomrule\n\\end{tabular}\n% "));
  EXPECT_THAT(latex, HasSubstr("Images & R@1 & "));
  for (const char* row : {"clean", "jpeg", "rotation", "mean of corrupted"}) {
    EXPECT_THAT(latex, HasSubstr(std::string("\n") + row + " & "));
  }

  const std::string csv = table("csv", {"--corruptions", "jpeg"});
  EXPECT_THAT(csv,
              ::testing::StartsWith(
                  "model,images,recall_any@1,recall_any@1 half width,"
                  "recall_any@2,recall_any@2 half width,map_at_r,"
                  "map_at_r half width,intra,intra half width,checkpoint,split,"
                  "protocol\nrun,clean,"));
  EXPECT_THAT(csv,
              HasSubstr(",last checkpoint (epoch 2),test,standard\nrun,jpeg,"));
  EXPECT_THAT(csv, ::testing::EndsWith("\npublished,clean,61.5,,,,,,,,,,\n"));
}

// A name that two metrics would share is not used; LaTeX is escaped.
TEST_F(EvalCommand, TablesKeepDifferentMetricsApart) {
  const std::string latex =
      expect_success(arguments({"--format", "latex", "--bootstrap", "0",
                                "--metrics", "map,map_trapezoid,nmi"}))
          .out;
  EXPECT_THAT(latex, HasSubstr("Model & map & map\\_trapezoid & NMI \\\\\n"));
  EXPECT_THAT(latex, ::testing::Not(HasSubstr("pm$")));
  EXPECT_THAT(
      latex, HasSubstr("% Shares in percent. Of the last checkpoint (epoch 2), "
                       "test split, protocol standard: 48 queries"));
}

TEST_F(EvalCommand, SaysOfWhatItIsAndOverwritesNoOther) {
  const std::string last = expect_success(arguments({})).out;
  EXPECT_THAT(last, ::testing::StartsWith("last checkpoint (epoch 2), test "
                                          "split, protocol standard\n"));
  const std::string of_last = read("metrics.json");
  const std::string best =
      expect_success(arguments({"--checkpoint", "best", "--split", "train"}))
          .out;
  EXPECT_THAT(best, HasSubstr("best checkpoint (epoch "));
  EXPECT_THAT(best, HasSubstr("-train-standard/metrics.json"));
  EXPECT_EQ(read("metrics.json"), of_last);
  const Json json = Json::parse(of_last);
  EXPECT_EQ(json.at("checkpoint"),
            Json::parse(R"({"name": "last", "epoch": 2, "step": 6,
                            "file": "checkpoints/last.safetensors"})"));
  EXPECT_EQ(json.at("data"), "of the run");
  EXPECT_EQ(json.at("protocol").at("split"), "test");
}

TEST_F(EvalCommand, DiagnosticsNameImagesAndClasses) {
  expect_success(arguments({"--diagnostics"}));
  const Json json = Json::parse(read("diagnostics.json"));
  for (const char* key : {"hardest_queries", "confused_pairs", "hubness",
                          "by_query", "near_duplicates", "definitions"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

TEST_F(EvalCommand, WrongInputIsRefused) {
  const auto refused = [&](int code, const std::vector<std::string>& more,
                           const std::vector<std::string_view>& parts) {
    expect_failure(code, arguments(more), parts);
  };
  refused(2, {"--protocol", "standart"},
          {"'standart'", "did you mean 'standard'?"});
  refused(2, {"--corruptions", "jpg"}, {"jpg", "did you mean 'jpeg'?"});
  refused(2, {"--whiten", "train:x"}, {"--whiten", "train:DIM"});
  refused(2, {"--whiten", "pairs:0"}, {"--whiten", "pairs:DIM"});
  refused(1, {"--whiten", "missing.safetensors"}, {"missing.safetensors"});
  refused(1, {"--whiten", "train:17"}, {"16"});
  refused(1, {"--protocol", "query_gallery"}, {"is_query"});
  refused(1, {"--protocol", "vehicleid"}, {"small", "large"});
  refused(1, {"--protocol", "revisited"}, {"revisited"});
  refused(2, {"--scales", "0"}, {"scales"});
  refused(2, {"--checkpoint", "bset"},
          {"--checkpoint", "did you mean 'best'?"});
  refused(2, {"--checkpoint", "-1"}, {"--checkpoint", "number of an epoch"});
  refused(1, {"--checkpoint", "1"},
          {"the weights of epoch 1 were not kept", "last (epoch 2)",
           "train.keep_every"});
  refused(2, {"--format", "latec"}, {"latec", "did you mean 'latex'?"});
  refused(2, {"--format", "csv", "--json"}, {"--format", "--json"});
}

}  // namespace
}  // namespace kith
