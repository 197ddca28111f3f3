#include "kith/study/table.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/study/text_table.h"

namespace kith {
namespace {

/// Two combinations with two runs and one, a third without.
Study table_study() {
  Study study;
  study.name = "small";
  study.title = "A study";
  study.axes = {{"loss", {{"a|b", {}}, {"c_d", {}}, {"e", {}}}}};
  study.seeds = {0, 1};
  study.metrics = {"recall_any@1", "rho"};
  study.published = {{{"a|b"}, {{"recall_any@1", 60.5}}}};
  study.published_source = "A paper, Table 3";
  return study;
}

RunResult result(const char* label, int64_t seed, double recall, double rho) {
  RunResult run;
  run.labels = {label};
  run.seed = seed;
  run.folder = "out/" + std::to_string(seed);
  run.metrics = {{"recall_any@1", recall}, {"rho", rho}};
  return run;
}

class StudyTable : public ::testing::Test {
 protected:
  StudyTable() : study_(table_study()) {
    results_.study = &study_;
    results_.runs = {result("a|b", 0, 0.60, 0.3), result("a|b", 1, 0.62, 0.32),
                     result("c_d", 0, 0.59, 0.41236)};
  }

  void add_third_runs() {
    results_.runs = {result("a|b", 0, 0.60, 0.30), result("a|b", 1, 0.62, 0.32),
                     result("a|b", 2, 0.61, 0.31)};
    for (int64_t seed = 0; seed < 3; ++seed) {
      results_.runs.push_back(
          result("c_d", seed, 0.59, 0.4 + 0.01 * static_cast<double>(seed)));
    }
  }

  Study study_;
  StudyResults results_;
};

TEST_F(StudyTable, AsMarkdown) {
  EXPECT_EQ(study_markdown(results_),
            "# A study\n"
            "\n"
            "| loss | runs | recall_any@1 | published | rho |\n"
            "|---|---|---|---|---|\n"
            "| a\\|b | 2 | 61.00 (60.00, 62.00) | 60.5 | 0.31 (0.3, 0.32) |\n"
            "| c_d | 1 | 59.00 | - | 0.4124 |\n"
            "| e | 0 | - | - | - |\n"
            "\n"
            "Of two runs the mean and both values, which are too few for an "
            "interval; shares in percent. Published: A paper, Table 3.\n");
}

TEST_F(StudyTable, SaysWhichNetworkAndSplitItIsOf) {
  results_.runs[0].chosen_on_validation = true;
  EXPECT_NE(study_markdown(results_).find("Not all runs are of the last"),
            std::string::npos);
  for (RunResult& run : results_.runs) run.chosen_on_validation = true;
  EXPECT_NE(study_markdown(results_).find(
                "shares in percent. Test split, with the checkpoint that the "
                "validation split chose. Published"),
            std::string::npos);
  for (RunResult& run : results_.runs) {
    run.chosen_on_validation = false;
    run.split = "validation";
  }
  EXPECT_NE(
      study_markdown(results_).find("shares in percent. Validation split. "),
      std::string::npos);
}

TEST_F(StudyTable, ThreeRunsHaveIntervalsAndTheBestIsMarked) {
  add_third_runs();
  // Half width: 4.3027 * 0.01 / sqrt(3) = 0.02484.
  EXPECT_EQ(study_markdown(results_),
            "# A study\n"
            "\n"
            "| loss | runs | recall_any@1 | published | rho |\n"
            "|---|---|---|---|---|\n"
            "| a\\|b | 3 | **61.00 ± 2.48** | 60.5 | 0.31 ± 0.02484 |\n"
            "| c_d | 3 | 59.00 ± 0.00 | - | 0.41 ± 0.02484 |\n"
            "| e | 0 | - | - | - |\n"
            "\n"
            "Mean ± half of the 95% interval (Student's t) over runs; shares "
            "in percent. Published: A paper, Table 3.\n");
}

// One row with too few is enough: it may be the best one by chance.
TEST_F(StudyTable, MarksNothingWhereARowHasTooFewRuns) {
  results_.runs.push_back(result("a|b", 2, 0.61, 0.31));
  const std::string table = study_markdown(results_);
  EXPECT_NE(table.find("61.00 ± 2.48"), std::string::npos) << table;
  EXPECT_EQ(table.find("**"), std::string::npos) << table;
}

TEST_F(StudyTable, OneRunMayHaveAnIntervalOverItsQueries) {
  for (RunResult& run : results_.runs) {
    run.intervals["recall_any@1"] = {0.58, 0.605};
  }
  const std::string table = study_markdown(results_);
  EXPECT_NE(table.find("| c_d | 1 | 59.00 [58.00, 60.50] |"), std::string::npos)
      << table;
  EXPECT_NE(table.find("61.00 (60.00, 62.00)"), std::string::npos) << table;
  EXPECT_NE(table.find("in brackets the 95% interval over the queries of one "
                       "run, which says nothing of other seeds; shares"),
            std::string::npos)
      << table;
  const auto json = nlohmann::json::parse(study_json(results_));
  EXPECT_EQ(json.at("runs").at(0).at("intervals").at("recall_any@1").at(0),
            0.58);
}

TEST_F(StudyTable, AnAverageIsShownAsItsMetricsAre) {
  study_.averages = {{"Avg", {"recall_any@1"}}};
  study_.metrics = {"Avg"};
  for (RunResult& run : results_.runs) run.metrics["Avg"] = 0.5;
  EXPECT_NE(study_markdown(results_).find("| c_d | 1 | 50.00 |"),
            std::string::npos)
      << study_markdown(results_);
  add_third_runs();
  for (RunResult& run : results_.runs) {
    run.metrics["Avg"] = run.labels[0] == "c_d" ? 0.6 : 0.5;
  }
  EXPECT_NE(study_markdown(results_).find("| c_d | 3 | **60.00 ± 0.00** |"),
            std::string::npos)
      << study_markdown(results_);
}

TEST_F(StudyTable, AsCsv) {
  EXPECT_EQ(study_csv(results_),
            "loss,runs,recall_any@1,recall_any@1 half width,recall_any@1 "
            "published,rho,rho half width,rho published\n"
            "a|b,2,61.0000,,60.5,0.3100,,\n"
            "c_d,1,59.0000,,,0.4124,,\n"
            "e,0,,,,,,\n");
}

TEST_F(StudyTable, AsLatex) {
  EXPECT_EQ(study_latex(results_),
            "% A study\n"
            "% needs \\usepackage{booktabs}\n"
            "\\begin{tabular}{lrrrr}\n"
            "\\toprule\n"
            "loss & runs & recall\\_any@1 & published & rho \\\\\n"
            "\\midrule\n"
            "a|b & 2 & 61.00 (60.00, 62.00) & 60.5 & 0.31 (0.3, 0.32) "
            "\\\\\n"
            "c\\_d & 1 & 59.00 & - & 0.4124 \\\\\n"
            "e & 0 & - & - & - \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n"
            "% Of two runs the mean and both values, which are too few for an "
            "interval; shares in percent. Published: A paper, Table 3.\n");
}

TEST_F(StudyTable, AsJson) {
  const auto json = nlohmann::json::parse(study_json(results_));
  EXPECT_EQ(json.at("study"), "small");
  const auto& first = json.at("combinations").at(0);
  EXPECT_EQ(first.at("labels").at("loss"), "a|b");
  EXPECT_EQ(first.at("runs"), 2);
  EXPECT_DOUBLE_EQ(first.at("metrics").at("recall_any@1").at("mean"), 0.61);
  EXPECT_TRUE(
      first.at("metrics").at("recall_any@1").at("half_width").is_null());
  EXPECT_EQ(first.at("metrics").at("recall_any@1").at("low"), 0.6);
  EXPECT_EQ(first.at("metrics").at("recall_any@1").at("high"), 0.62);
  EXPECT_EQ(first.at("metrics").at("recall_any@1").at("published"), 60.5);
  const auto& empty = json.at("combinations").at(2).at("metrics").at("rho");
  EXPECT_TRUE(empty.at("mean").is_null());
  EXPECT_EQ(empty.at("count"), 0);
  EXPECT_EQ(json.at("runs").size(), 3u);
  EXPECT_EQ(json.at("runs").at(1).at("seed"), 1);
}

TEST_F(StudyTable, TheBestOfADistanceWithinClassesIsTheSmallest) {
  add_third_runs();
  study_.metrics = {"intra", "inter"};
  for (RunResult& run : results_.runs) {
    run.metrics["intra"] = run.metrics["inter"] = run.metrics["rho"];
  }
  const std::string table = study_markdown(results_);
  EXPECT_NE(table.find("| a\\|b | 3 | **0.31 ± 0.02484** | 0.31 ± 0.02484 |"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("| c_d | 3 | 0.41 ± 0.02484 | **0.41 ± 0.02484** |"),
            std::string::npos)
      << table;
}

TEST_F(StudyTable, MarksNothingInATableOfOneRow) {
  study_.axes[0].values.resize(1);
  EXPECT_EQ(study_markdown(results_).find("**"), std::string::npos);
}

TEST(TextTable, FieldsWithCommasAreQuotedInCsv) {
  Study study = table_study();
  study.axes[0].values = {{"1,2", {}}, {"say \"x\"", {}}};
  StudyResults results;
  results.study = &study;
  const std::string csv = study_csv(results);
  EXPECT_NE(csv.find("\n\"1,2\",0,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n\"say \"\"x\"\"\",0,"), std::string::npos) << csv;
}

TEST(TextTable, MetricsAreInPercentIfTheyAreShares) {
  EXPECT_EQ(format_metric("nmi", 0.12345), "12.35");
  EXPECT_EQ(format_metric("rho", 0.123456), "0.1235");
}

}  // namespace
}  // namespace kith
