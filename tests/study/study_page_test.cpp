#include "kith/study/study_page.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/study/sweep.h"
#include "tests/support/expect_error.h"
#include "tests/support/markup.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string eval_at(int epoch, double recall) {
  return "{\"epoch\":" + std::to_string(epoch) +
         ",\"step\":" + std::to_string(10 * epoch) +
         ",\"metrics\":{\"recall_any@1\":" + std::to_string(recall) +
         ",\"map_at_r\":" + std::to_string(recall / 2) + "}}";
}

/// The folder of a study.
class StudyFolder : public ::testing::Test {
 protected:
  /// Of a temperature, with two seeds or more.
  void make(const std::string& values, const std::string& seeds) {
    make_of("  title: Of <t1>\n  seeds: " + seeds +
            "\n  axes: [{name: t1, key: loss.t1, values: " + values +
            "}]\n"
            "  published: {source: A paper, rows: [{t1: 1, recall_any@1: "
            "77.5}]}\n"
            "  figures: [{name: lines, file: t1, x: t1, y: recall_any@1}]\n");
  }

  /// `lines` are the study's section.
  void make_of(const std::string& lines, const std::string& train = "") {
    study_ = load_study(folder_.write(
        "temperature.yaml",
        "data: {name: glyphs, classes: 8, per_class: 4}\n"
        "eval: {metrics: [\"recall_any@1\", map_at_r], every: 1}\n" +
            train + "study:\n" + lines));
    write_study(study_, out());
  }

  /// Of a temperature, for each of which two values of another are tried.
  void make_search() {
    make_of(
        "  axes: [{name: t1, key: loss.t1, values: [1, 2]}]\n"
        "  search: {method: grid, space: {loss.t2: [0.25, 0.5]}}\n",
        "train: {validation: 0.5, epochs: 9}\n");
  }

  void make_folds() { make_of("  title: Of folds\n  folds: 2\n"); }

  /// A trial that is finished. NaN is null.
  void finish_trial(const std::string& trial, const std::string& recall,
                    int epoch) {
    write(trial + "/metrics.json",
          "{\"split\":\"validation\",\"best\":{\"metric\":\"recall_any@1\","
          "\"value\":" +
              recall + ",\"epoch\":" + std::to_string(epoch) + "}}");
  }

  /// A run that is finished, better the larger `recall` is.
  void finish(const std::string& run, double recall) {
    write(run + "/metrics.json",
          "{\"protocol\":\"standard\",\"split\":\"test\",\"last\":" +
              eval_at(3, recall) + ",\"best\":null,\"history\":[" +
              eval_at(0, 0.125) + "," + eval_at(1, 0.5 * recall) + "," +
              eval_at(2, 0.75 * recall) + "," + eval_at(3, recall) + "]}");
  }

  void write(const std::string& file, const std::string& text) {
    const std::string path = out() + "/" + file;
    make_folders(std::filesystem::path(path).parent_path());
    write_file_atomically(path, text);
  }

  std::string out() const { return folder_.file("out"); }

  StudyPage page() const { return make_study_page({.study = out()}); }

  /// A section of the page; empty if it has none of this name.
  std::string section(const std::string& id) const {
    const std::string html = page().html;
    EXPECT_EQ(markup_fault(html), "");
    const size_t begin = html.find("<section id=\"" + id + "\"");
    if (begin == std::string::npos) return "";
    return html.substr(begin, html.find("</section>", begin) - begin);
  }

  TempDir folder_;
  Study study_;
};

TEST_F(StudyFolder, HasTableCurvesFiguresAndBestRuns) {
  make("[1, 2]", "[0, 1, 2]");
  for (int seed = 0; seed < 3; ++seed) {
    finish("1/seed-" + std::to_string(seed), 0.75 + 0.01 * seed);
    finish("2/seed-" + std::to_string(seed), 0.5 + 0.01 * seed);
  }
  write("1/seed-2/report.html", "<p>");
  const StudyPage made = page();
  EXPECT_EQ(made.runs, 6);
  EXPECT_EQ(made.finished, 6);
  EXPECT_EQ(made.lead,
            "All 6 runs are finished. Best by recall_any@1: t1 = 1, 76.00% ± "
            "2.48%.");
  const std::string& html = made.html;
  EXPECT_EQ(markup_fault(html), "");
  for (const char* id :
       {"results", "values", "curves", "figures", "best", "run"}) {
    EXPECT_EQ(count_of(html, std::string("<section id=\"") + id + "\""), 1)
        << id;
  }
  EXPECT_THAT(html, Not(HasSubstr("id=\"unfinished\"")));
  EXPECT_THAT(html, HasSubstr("Of &lt;t1&gt;"));
  EXPECT_THAT(html, HasSubstr("before 12.50%, +63.50\npublished 77.5%"));
  EXPECT_THAT(html, HasSubstr("data-chart=\"metric-recall_any@1\""));
  EXPECT_THAT(html, HasSubstr("data-chart=\"figure-t1\""));
  // The best run has a page, the next ones say how to make it.
  EXPECT_THAT(html, HasSubstr("<a href=\"1/seed-2/report.html\">t1 = 1, seed "
                              "2</a>: recall_any@1 77.00%</li>"));
  EXPECT_THAT(html, HasSubstr("<a href=\"1/seed-1/\">"));
  EXPECT_THAT(html, HasSubstr("kith report " + out() + "/1/seed-1"));
  EXPECT_THAT(html, HasSubstr("has chosen on test"));
}

TEST_F(StudyFolder, ListsWhatIsNotFinished) {
  make("[1, 2, 3]", "[0]");
  finish("1/seed-0", 0.75);
  write("2/seed-0/diverged.txt", "NaN in step 7\n");
  write("3/seed-0/train.log", "begin\nkith: no space left\n\n");
  StudyPage made = page();
  EXPECT_EQ(made.finished, 1);
  EXPECT_THAT(made.lead, HasSubstr("1 of 3 runs are finished."));
  EXPECT_EQ(markup_fault(made.html), "");
  EXPECT_THAT(made.html, HasSubstr("<td>diverged</td><td>NaN in step 7</td>"));
  EXPECT_THAT(made.html, HasSubstr("<td>begun, not ended</td><td>kith: no "
                                   "space left</td>"));
  std::filesystem::remove_all(out() + "/3");
  EXPECT_THAT(page().html, HasSubstr("<td>not begun</td>"));
}

TEST_F(StudyFolder, OfManyRunsStaysSmall) {
  std::string values = "[";
  for (int i = 1; i <= 60; ++i) values += std::to_string(i) + ",";
  values.back() = ']';
  make(values, "[0, 1, 2]");
  for (int i = 1; i <= 60; ++i) {
    for (int seed = 0; seed < 3; ++seed) {
      finish(std::to_string(i) + "/seed-" + std::to_string(seed),
             0.9 - 0.01 * i - 0.001 * seed);
    }
  }
  const StudyPage made = page();
  EXPECT_EQ(made.finished, 180);
  EXPECT_LT(made.html.size(), 400'000U);
  EXPECT_THAT(made.html, HasSubstr("The best 40 of 60 combinations are drawn"));
  EXPECT_THAT(made.html, HasSubstr("The best 8 of 60 combinations are drawn"));
}

TEST_F(StudyFolder, LinksFromWhereThePageLies) {
  make("[1]", "[0]");
  finish("1/seed-0", 0.75);
  EXPECT_THAT(page().lead, HasSubstr("The run is finished."));
  const std::string html =
      make_study_page({.study = out(), .out = folder_.file("a b/page.html")})
          .html;
  EXPECT_THAT(html, HasSubstr("<a href=\"../out/1/seed-0/\">"));
}

TEST_F(StudyFolder, ShowsWhatASearchChose) {
  make_search();
  finish_trial("1/search/trial-1", "0.25", 3);
  finish_trial("1/search/trial-2", "0.75", 7);
  finish_trial("2/search/trial-1", "0.5", 2);
  const std::string shown = section("search");
  EXPECT_THAT(shown, HasSubstr(">What was searched</h2>"));
  EXPECT_THAT(shown, HasSubstr("held-out training classes"));
  EXPECT_THAT(shown, HasSubstr("What was chosen"));
  size_t at = 0;
  for (const char* head : {"t1", "loss.t2", "trial", "epoch", "held-out"}) {
    at = shown.find(std::string(">") + head + "</th>", at);
    ASSERT_NE(at, std::string::npos) << head << "\n" << shown;
  }
  EXPECT_THAT(shown, HasSubstr("<td>0.5</td><td>2</td><td>7</td><td>75.00"));
  EXPECT_EQ(count_of(shown, "<tr>"), 2) << shown;  // head, and one that ended
  EXPECT_THAT(shown, Not(HasSubstr("No search has ended")));
  EXPECT_THAT(section("unfinished"), HasSubstr("t1 = 2, seed 0"));

  finish_trial("2/search/trial-2", "0.125", 9);
  const std::string both = section("search");
  EXPECT_EQ(count_of(both, "<tr>"), 3) << both;
  EXPECT_THAT(both, HasSubstr("<td>0.25</td><td>1</td><td>2</td><td>50.00"));
}

TEST_F(StudyFolder, SaysThatNoSearchHasEnded) {
  make_search();
  finish_trial("1/search/trial-1", "0.25", 3);
  const std::string shown = section("search");
  EXPECT_THAT(shown, HasSubstr("No search has ended yet."));
  EXPECT_THAT(shown, Not(HasSubstr("<table")));
  EXPECT_EQ(section("best"), "");
  make("[1]", "[0]");
  EXPECT_EQ(section("search"), "");
}

TEST_F(StudyFolder, SaysThatASearchWasInVain) {
  make_search();
  finish_trial("1/search/trial-1", "null", 3);
  write("1/search/trial-2/diverged.txt", "NaN in step 7\n");
  std::string shown = section("search");
  EXPECT_THAT(shown, HasSubstr("Searches without a trial that has a value: 1; "
                               "change study.search.space."));
  EXPECT_THAT(shown, Not(HasSubstr("No search has ended")));
  finish_trial("2/search/trial-1", "0.5", 2);
  finish_trial("2/search/trial-2", "0.25", 9);
  shown = section("search");
  EXPECT_THAT(shown, HasSubstr("that has a value: 1;"));
  EXPECT_EQ(count_of(shown, "<tr>"), 2) << shown;
}

TEST_F(StudyFolder, OfASearchWasNotChosenOnTest) {
  make_search();
  for (const char* t1 : {"1", "2"}) {
    finish_trial(std::string(t1) + "/search/trial-1", "0.25", 3);
    finish_trial(std::string(t1) + "/search/trial-2", "0.75", 7);
  }
  finish("1/seed-0", 0.75);
  const std::string shown = section("best");
  EXPECT_THAT(shown, HasSubstr("Values were chosen on held-out training "
                               "classes, and the runs tested afterwards."));
  EXPECT_THAT(shown, Not(HasSubstr("chosen on test")));
}

TEST_F(StudyFolder, OfFoldsHasBothNumbersAndNamesTheNetworks) {
  make_folds();
  write("seed-0/metrics.json",
        R"({"protocol":"standard","split":"test","last":{"epoch":0,"step":0,
            "metrics":{"separated/recall_any@1":0.5,"separated/map_at_r":0.25,
                       "concatenated/recall_any@1":0.75,
                       "concatenated/map_at_r":0.375}},"history":[]})");
  const StudyPage made = page();
  EXPECT_EQ(made.runs, 1);
  EXPECT_EQ(made.lead,
            "The run is finished. Best by separated/recall_any@1: Of folds, "
            "50.00%.");
  const std::string results = section("results");
  size_t at = 0;
  for (const char* text :
       {">separated/recall_any@1<", ">concatenated/recall_any@1<",
        ">separated/map_at_r<", ">concatenated/map_at_r<", ">Of folds<",
        "50.00%", "75.00%", "25.00%", "37.50%"}) {
    at = results.find(text, at);
    ASSERT_NE(at, std::string::npos) << text << "\n" << results;
  }
  EXPECT_EQ(section("unfinished"), "");
  EXPECT_EQ(section("curves"), "");
  // The run itself is none that `kith report` knows.
  const std::string best = section("best");
  EXPECT_THAT(best, HasSubstr("<a href=\"seed-0/\">Of folds, seed 0</a>: "
                              "separated/recall_any@1 50.00%"));
  EXPECT_THAT(
      best, HasSubstr("<code>kith report " + out() + "/seed-0/fold-*</code>"));
}

TEST_F(StudyFolder, OfFoldsSaysWhichOfThemIsNotFinished) {
  make_folds();
  EXPECT_THAT(section("unfinished"), HasSubstr("<td>not begun</td>"));
  finish("seed-0/fold-1", 0.75);
  write("seed-0/fold-2/train.log", "kith: no space left\n");
  EXPECT_EQ(page().finished, 0);
  EXPECT_THAT(section("unfinished"),
              HasSubstr("seed-0/fold-2</small></th><td>begun, not ended</td>"
                        "<td>kith: no space left</td>"));
  write("seed-0/fold-2/diverged.txt", "NaN in step 7\n");
  EXPECT_THAT(section("unfinished"),
              HasSubstr("<td>diverged</td><td>NaN in step 7</td>"));
  // All are trained: what is left is to score them.
  std::filesystem::remove_all(out() + "/seed-0/fold-2");
  finish("seed-0/fold-2", 0.75);
  write("seed-0/train.log", "kith: scoring failed\n");
  EXPECT_THAT(section("unfinished"),
              HasSubstr("<td>begun, not ended</td><td>kith: scoring failed"));
}

TEST_F(StudyFolder, IsToldFromARunAndFromAnEarlierStudy) {
  make("[1]", "[0]");
  EXPECT_TRUE(is_study_folder(out()));
  std::filesystem::remove(out() + "/study.yaml");
  EXPECT_TRUE(is_study_folder(out()));  // it has results.json
  expect_error<DataError>([&] { page(); }, "no study.yaml", "kith sweep");
  EXPECT_FALSE(is_study_folder(folder_.path()));
  expect_error<DataError>([&] { make_study_page({.study = folder_.path()}); },
                          "not the folder of a study");
}

}  // namespace
}  // namespace kith
