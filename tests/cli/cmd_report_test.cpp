// `kith report`: what is in the page, and what it says of runs that are broken.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/markup.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two tiny runs with different losses on images in a folder, for all tests.
class ReportCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir();
    expect_success({"data", "make", "glyphs", "--out", folder_->file("images"),
                    "--classes", "12", "--per-class", "8"});
    const std::string config = folder_->write("tiny.yaml", kTinyConfig);
    const std::string data = "data={name: csv, path: '" + images() + "'}";
    for (const char* loss : {"recall_at_k", "supcon"}) {
      expect_success(train_arguments(
          config, run(loss),
          {"--set", data, "--set", "loss={name: " + std::string(loss) + "}",
           "--set", "eval.every=1", "--set", "eval.before=true"}));
    }
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string run(const std::string& loss) {
    return folder_->file("run_" + loss);
  }
  static std::string images() { return folder_->file("images"); }

  /// A copy of a run, to be damaged.
  static std::string copy(const std::string& name) {
    const std::string to = folder_->file(name);
    fs::copy(run("supcon"), to, fs::copy_options::recursive);
    return to;
  }

  static std::vector<std::string> arguments(
      const std::vector<std::string>& more) {
    std::vector<std::string> all = {"report", "--device", "cpu", "--threads",
                                    "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// The page that the program says it wrote, checked for what every page must
  /// be: well-formed and without anything from elsewhere.
  static std::string page_of(const Json& json, const std::string& folder = "") {
    const std::string path = json.at("report");
    const std::string page = read_file(
        folder.empty() ? path : folder + "/" + path, uint64_t{1} << 26);
    EXPECT_EQ(markup_fault(page), "");
    EXPECT_EQ(page.size(), json.at("bytes").get<size_t>());
    for (const char* outside : {"src=\"http", "url(http", "<link", "@import"}) {
      EXPECT_THAT(page, Not(HasSubstr(outside)));
    }
    return page;
  }

  static TempDir* folder_;
};

TempDir* ReportCommand::folder_ = nullptr;

std::string section(const std::string& id) { return "id=\"" + id + "\""; }

TEST_F(ReportCommand, ShowsOneRunInItsFolder) {
  const std::string folder = run("recall_at_k");
  const std::vector<std::string> all = arguments({folder, "--json"});
  const Json json = Json::parse(expect_success(all).out);
  EXPECT_EQ(json.at("report"), folder + "/report.html");
  EXPECT_EQ(json.at("runs"),
            Json({{{"name", "run_recall_at_k"}, {"folder", folder}}}));
  EXPECT_GT(json.at("seconds").get<double>(), 0);
  const std::string page = page_of(json);
  for (const char* id :
       {"results", "curves", "examples", "similarities", "spectrum", "classes",
        "activations", "scatter", "cost", "run"}) {
    EXPECT_THAT(page, HasSubstr(section(id)));
  }
  EXPECT_THAT(page, Not(HasSubstr(section("differences"))));
  EXPECT_THAT(page, HasSubstr("Finds an image of the right class first for "));
  EXPECT_THAT(page, HasSubstr("of 48 queries (before training: "));
  EXPECT_THAT(page, HasSubstr("kith report " + folder));
  page_of(Json::parse(expect_success(all).out));
  EXPECT_EQ(read_file(folder + "/report.html", uint64_t{1} << 26), page)
      << "twice the same bytes";
}

TEST_F(ReportCommand, ShowsTwoRunsSideBySide) {
  const TempDir here;
  ProgramOptions options;
  options.folder = here.path();
  const Json json = Json::parse(
      expect_success(arguments({run("recall_at_k"), run("supcon"), "--json",
                                "--queries", "3", "--neighbours", "2"}),
                     options)
          .out);
  EXPECT_EQ(json.at("report"), "report.html");
  EXPECT_EQ(json.at("runs").size(), 2u);
  const std::string page = page_of(json, here.path());
  EXPECT_THAT(page, HasSubstr(section("differences")));
  EXPECT_THAT(page, HasSubstr("run_recall_at_k and run_supcon"));
  EXPECT_THAT(page, HasSubstr("loss.name"));
  EXPECT_THAT(page, HasSubstr("recall_any@1 "));
  EXPECT_THAT(page, HasSubstr("--queries 3 --neighbours 2"));
}

TEST_F(ReportCommand, CallsRunsAsTheUserDoes) {
  const std::string out = folder_->file("named.html");
  const Json json = Json::parse(
      expect_success(arguments({run("recall_at_k"), run("supcon"), "--name",
                                "RS@k, t1 = 1", "--name", "SupCon", "--json",
                                "--no-network", "--out", out}))
          .out);
  EXPECT_EQ(json.at("runs")[0].at("name"), "RS@k, t1 = 1");
  EXPECT_THAT(page_of(json), HasSubstr("RS@k, t1 = 1 and SupCon"));
}

TEST_F(ReportCommand, PrintsWhereThePageIs) {
  const std::string page = folder_->file("new/folder/page.html");
  const ProgramResult result =
      expect_success(arguments({run("supcon"), "--out", page, "--title",
                                "A <title>", "--checkpoint", "best"}));
  EXPECT_THAT(result.out, HasSubstr("Finds an image of the right class"));
  EXPECT_THAT(result.out, HasSubstr("Look at it: " + page + "\n"));
  EXPECT_THAT(read_file(page, uint64_t{1} << 26),
              HasSubstr("<title>A &lt;title&gt;</title>"));
}

TEST_F(ReportCommand, LeavesTheNetworkOut) {
  const Json json = Json::parse(
      expect_success(arguments({run("supcon"), "--no-network", "--json",
                                "--out", folder_->file("fast.html")}))
          .out);
  const std::string page = page_of(json);
  EXPECT_THAT(json.at("runs")[0].at("missing").get<std::string>(),
              HasSubstr("--no-network"));
  EXPECT_THAT(page, HasSubstr(section("results")));
  EXPECT_THAT(page, HasSubstr(section("curves")));
  EXPECT_THAT(page, Not(HasSubstr(section("examples"))));
  EXPECT_THAT(page, Not(HasSubstr("data:image/jpeg")));
}

TEST_F(ReportCommand, ShowsARunWhoseDataIsGoneBesideOneWhoseDataIsThere) {
  const std::string gone = copy("gone");
  std::string config = read_file(gone + "/config.yaml", uint64_t{1} << 20);
  const size_t place = config.find(images());
  ASSERT_NE(place, std::string::npos);
  config.replace(place, images().size(), "/nowhere/images");
  write_file(gone + "/config.yaml", config);
  const ProgramResult result =
      expect_success(arguments({gone, run("recall_at_k"), "--json", "--out",
                                folder_->file("gone.html")}));
  EXPECT_THAT(result.err, HasSubstr("warning: gone: only what its log says"));
  const Json json = Json::parse(result.out);
  EXPECT_THAT(json.at("runs")[0].at("missing").get<std::string>(),
              HasSubstr("/nowhere/images"));
  EXPECT_FALSE(json.at("runs")[1].contains("missing"));
  const std::string page = page_of(json);
  EXPECT_THAT(page, HasSubstr(section("examples")));
  EXPECT_THAT(page, HasSubstr("/nowhere/images"));
}

TEST_F(ReportCommand, ShowsARunWithoutCheckpoint) {
  const std::string bare = copy("bare");
  fs::remove_all(bare + "/checkpoints");
  const Json json =
      Json::parse(expect_success(arguments({bare, "--json"})).out);
  EXPECT_THAT(json.at("runs")[0].at("missing").get<std::string>(),
              HasSubstr("last.safetensors"));
  EXPECT_THAT(page_of(json), HasSubstr(section("results")));
}

TEST_F(ReportCommand, RefusesWhatIsNoRun) {
  const std::string empty = folder_->file("empty");
  fs::create_directory(empty);
  expect_failure(1, arguments({empty}), {empty, "config.yaml"});
  expect_failure(1, arguments({run("supcon"), folder_->file("nowhere")}),
                 {folder_->file("nowhere")});
  const std::string study = folder_->file("study");
  fs::create_directory(study);
  copy("study/one");
  expect_failure(1, arguments({study}), {study, study + "/one"});
  EXPECT_FALSE(fs::exists(study + "/report.html"));
}

/// A study's folder, as a sweep leaves it, with one of two runs finished.
std::string write_study_folder(const TempDir& folder) {
  const std::string study = folder.file("temperatures");
  fs::create_directories(study + "/1/seed-0");
  write_file(study + "/study.yaml", std::string(kTinyConfig) +
                                        "\nstudy: {title: Temperatures, axes: "
                                        "[{name: t1, key: loss.t1, values: [1, "
                                        "2]}]}\n");
  write_file(study + "/1/seed-0/metrics.json",
             "{\"split\": \"test\", \"last\": {\"metrics\": "
             "{\"recall_any@1\": 0.5}}, \"history\": []}");
  return study;
}

TEST_F(ReportCommand, ShowsAStudyInItsFolder) {
  const std::string study = write_study_folder(*folder_);
  const Json json =
      Json::parse(expect_success(arguments({study, "--json"})).out);
  EXPECT_EQ(json.at("report"), study + "/report.html");
  EXPECT_EQ(json.at("runs"), 2);
  EXPECT_EQ(json.at("finished"), 1);
  const std::string page = page_of(json);
  EXPECT_THAT(page, HasSubstr("<title>Temperatures</title>"));
  EXPECT_THAT(page, HasSubstr("not begun"));
  EXPECT_THAT(page, HasSubstr("kith report " + study));
  expect_failure(2, arguments({study, "--queries", "3"}),
                 {"--queries is for pages of runs", study});
  expect_failure(2, arguments({run("supcon"), study}),
                 {study + " is a study", "kith report " + study});
}

TEST_F(ReportCommand, RefusesWrongUsage) {
  const std::string one = run("supcon");
  expect_failure(2, arguments({one, one + "/."}),
                 {"the same folder", "name each run once"});
  expect_failure(2, arguments({one, "--out", folder_->path()}),
                 {"--out", folder_->path() + "/report.html"});
  expect_failure(2, arguments({one, "--checkpoint", "lats"}), {"last"});
  const std::string other = run("recall_at_k");
  expect_failure(2, arguments({one, other, "--name", "a"}),
                 {"--name", "1 times for 2 runs"});
  expect_failure(2, arguments({one, other, "--name", "a", "--name", "a"}),
                 {"--name 'a'", "a name of its own"});
  expect_failure(2, {"report"}, {"runs"});
}

}  // namespace
}  // namespace kith
