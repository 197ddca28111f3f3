#include "kith/report/lead.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kith {
namespace {

RunRecord record(const std::string& name, double recall) {
  RunRecord run;
  run.name = name;
  run.config =
      parse_config("{data: {name: glyphs}, eval: {best: recall_any@1}}", "c");
  run.metrics = {{"map_at_r", 0.5, true, "", 0.1, {}},
                 {"recall_any@1", recall, true, "", {}, {}}};
  run.protocol = "standard";
  run.split = "test";
  run.rules = "4000 queries, gallery of 4000";
  run.finished = true;
  return run;
}

TEST(ReportTitle, NamesUpToThreeRuns) {
  EXPECT_EQ(report_title({record("a", 0)}), "a");
  EXPECT_EQ(report_title({record("a", 0), record("b", 0)}), "a and b");
  const std::vector<RunRecord> three(3, record("a", 0));
  EXPECT_EQ(report_title(three), "a, a and a");
  EXPECT_EQ(report_title(std::vector<RunRecord>(4, record("a", 0))),
            "4 runs compared");
}

TEST(ReportLead, SaysARecallInWords) {
  RunRecord run = record("a", 0.978);
  EXPECT_EQ(report_lead({run}),
            "Finds an image of the right class first for 97.8% of 4000 "
            "queries.");
  run.metrics[1].before = 0.15425;
  run.metrics[1].published = 0.983;
  EXPECT_EQ(report_lead({run}),
            "Finds an image of the right class first for 97.8% of 4000 queries "
            "(before training: 15.4%; published: 98.3%).");
  run.metrics[1].name = "recall_any@4";
  run.config = parse_config("{eval: {best: recall_any@4}}", "c");
  run.metrics[1].before.reset();
  run.metrics[1].published.reset();
  run.split = "validation";
  run.finished = false;
  EXPECT_EQ(report_lead({run}),
            "Finds an image of the right class among the first 4 for 97.8% of "
            "4000 queries of the validation split. The training is not "
            "finished.");
}

TEST(ReportLead, NamesOtherMetrics) {
  RunRecord run = record("a", 0.9);
  run.config = parse_config("{eval: {best: map_at_r}}", "c");
  EXPECT_EQ(report_lead({run}),
            "map_at_r is 50.0% over 4000 queries (before training: 10.0%).");
  // Of a protocol with parts, whose rules are several lines.
  run.metrics = {{"hard/map", 0.25, true, "", {}, {}},
                 {"rho", 0.1234567, false, "", {}, {}}};
  run.config = parse_config("{eval: {best: map}}", "c");
  run.rules = "hard: 70 queries";
  EXPECT_EQ(report_lead({run}), "hard/map is 25.0% over the queries.");
  run.config = parse_config("{eval: {best: rho}}", "c");
  EXPECT_EQ(report_lead({run}), "rho is 0.1235 over the queries.");
}

TEST(ReportLead, TakesAnotherMetricForOneThatIsNotDefined) {
  const RunRecord run = record("a", std::nan(""));
  EXPECT_EQ(report_lead({run}),
            "map_at_r is 50.0% over 4000 queries (before training: 10.0%).");
}

TEST(ReportLead, SaysThatThereIsNoEvaluation) {
  RunRecord run;
  EXPECT_EQ(report_lead({run}),
            "There is no evaluation yet. The training is not finished.");
  EXPECT_EQ(report_lead({run, run}), "None of the runs has an evaluation yet.");
  EXPECT_EQ(report_lead({}), "");
}

TEST(ReportLead, ComparesRuns) {
  const RunRecord a = record("sap", 0.761);
  const RunRecord b = record("rsk", 0.718);
  EXPECT_EQ(report_lead({a, b}),
            "recall_any@1 from 71.8% (rsk) to 76.1% (sap).");
  EXPECT_EQ(report_lead({a, a, a}), "recall_any@1 76.1% in 3 runs.");
  EXPECT_EQ(report_lead({RunRecord(), a}),
            "recall_any@1 76.1% (sap). 1 run has no such value.");
  RunRecord other = b;
  other.rules = "100 queries";
  EXPECT_EQ(report_lead({a, other}),
            "recall_any@1 from 71.8% (rsk) to 76.1% (sap). They were not all "
            "tested in the same way: mind what differs.");
}

}  // namespace
}  // namespace kith
