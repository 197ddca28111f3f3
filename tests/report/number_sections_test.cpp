#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/number_text.h"
#include "kith/report/section.h"
#include "kith/report/step_sums.h"
#include "tests/report/number_report.h"
#include "tests/support/markup.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report three_runs() {
  return report_of({made_run("rsk", 5, 1.0), made_run("sap", 5, 0.9),
                    made_run("triplet", 5, 0.8)});
}

Report odd_runs() {
  RunRecord named = made_run("<a&b>", 3, 0.5);
  named.config = ConfigNode();
  named.evals.back().metrics["recall_any@1"] = NAN;
  named.metrics[0].value = NAN;
  named.steps[4].loss = NAN;
  named.steps[5].seconds = {};
  RunRecord bare;
  bare.name = "bare";
  return report_of({bare, with_compressed(with_corruptions(named)),
                    made_run("rsk", 2, 1.0)});
}

TEST(NumberSections, AreSoundMarkupWhateverTheRunsLack) {
  using Section = std::string (*)(const Report&);
  const Section sections[] = {results_section,     curves_section,
                              cost_section,        differences_section,
                              corruptions_section, compressed_section,
                              run_section};
  RunRecord bare;
  for (const Report& report :
       {Report{}, report_of({bare}), report_of({made_run("rsk", 4, 1.0)}),
        three_runs(), odd_runs()}) {
    for (const Section section : sections) {
      const std::string html = section(report);
      EXPECT_EQ(markup_fault(html), "");
      EXPECT_THAT(html, Not(HasSubstr("nan")));
      EXPECT_THAT(html, Not(HasSubstr("inf\"")));
    }
  }
}

TEST(NumberSections, SayNothingOfNothing) {
  const Report none = report_of({RunRecord()});
  EXPECT_EQ(results_section(none), "");
  EXPECT_EQ(curves_section(none), "");
  EXPECT_EQ(cost_section(none), "");
  EXPECT_EQ(differences_section(none), "");
  EXPECT_EQ(corruptions_section(none), "");
  EXPECT_EQ(compressed_section(none), "");
  EXPECT_EQ(run_section(Report()), "");
}

TEST(CompressedSection, HasAChartByBytesAndATable) {
  const std::string html =
      compressed_section(report_of({with_compressed(made_run("rsk", 4, 1.0))}));
  EXPECT_THAT(html, HasSubstr("data-chart=\"compressed\""));
  EXPECT_THAT(html, HasSubstr("recall_any@1 by the bytes of an item"));
  EXPECT_THAT(html, HasSubstr("512,90"));
  EXPECT_THAT(html, HasSubstr("128,89.5"));
  EXPECT_THAT(html, HasSubstr("89.50%<small>"));
  EXPECT_EQ(count_of(html, "pca:32+int8"), count_of(html, "float32"));
  const std::string two = compressed_section(report_of(
      {with_compressed(made_run("rsk", 4, 1.0)), made_run("sap", 4, 1.0)}));
  EXPECT_EQ(count_of(two, "<table"), 1);
}

TEST(ResultsSection, OfOneRunHasBeforeAndAfterAndPublished) {
  RunRecord run = made_run("rsk", 4, 1.0);
  run.metrics[0].published = 0.638;
  run.published_source = "Table 1";
  const std::string html = results_section(report_of({run}));
  EXPECT_THAT(html, HasSubstr("Before training"));
  EXPECT_THAT(html, HasSubstr("10.00%</td><td class=\"number\">50.00%</td>"
                              "<td class=\"number\">+40.00</td>"
                              "<td class=\"number\">63.80%</td>"));
  EXPECT_EQ(count_of(html, "<small>what it means</small>"), 1);  // of three
  EXPECT_THAT(html, HasSubstr("Protocol standard, test split: 4000 queries"));
  EXPECT_THAT(html, HasSubstr("Published numbers: Table 1."));
  EXPECT_THAT(html, HasSubstr("data-chart=\"recall\""));
  // A number that is no share has no percent, and none was before.
  EXPECT_THAT(html, HasSubstr("<td class=\"number\">0.25</td>"));
}

TEST(ResultsSection, WithoutWhatWasBeforeHasValuesAlone) {
  RunRecord run = made_run("rsk", 4, 1.0);
  for (RecordedMetric& metric : run.metrics) metric.before.reset();
  const std::string html = results_section(report_of({run}));
  EXPECT_THAT(html, HasSubstr(">Value</th>"));
  EXPECT_THAT(html, Not(HasSubstr("Before")));
  EXPECT_THAT(html, Not(HasSubstr("data-chart")));
}

TEST(ResultsSection, OfSeveralRunsHasTheBestInBold) {
  Report report = three_runs();
  report.runs[1].metrics[0].published = 0.5;
  const std::string html = results_section(report);
  EXPECT_EQ(count_of(html, "<strong>"), 3);  // a row each of the shares
  EXPECT_THAT(html, HasSubstr("<strong>54.44%</strong>"));
  EXPECT_THAT(html, HasSubstr("<small>before 10.00%, +40.00\npublished "
                              "50.00%</small>"));
  EXPECT_EQ(count_of(html, "before "), 9);  // three runs, three shares
  EXPECT_EQ(count_of(html, "4000 queries"), 1);
}

TEST(ResultsSection, HasTheIntervalsThatWereComputed) {
  RunRecord run = made_run("rsk", 4, 1.0);
  EXPECT_THAT(results_section(report_of({run})),
              HasSubstr("kith eval computes 95% intervals"));
  run.metrics[0].interval = Interval{0.4812, 0.5188};
  run.intervals_rule = "95%, 1000 bootstrap resamples";
  const std::string one = results_section(report_of({run}));
  EXPECT_THAT(one, HasSubstr("50.00%<small>[48.12, 51.88]</small>"));
  EXPECT_THAT(one, HasSubstr("In brackets: intervals, 95%, 1000 bootstrap"));
  EXPECT_THAT(one, Not(HasSubstr("kith eval computes")));
  const std::string two =
      results_section(report_of({run, made_run("sap", 4, 0.9)}));
  EXPECT_THAT(two, HasSubstr("[48.12, 51.88]\nbefore 10.00%, +40.00"));
  EXPECT_THAT(two, HasSubstr("kith eval computes 95% intervals"));
}

TEST(ResultsSection, SaysOnWhatTheBestWasChosen) {
  RunRecord run = made_run("rsk", 4, 1.0);
  run.best = "recall_any@1 50.00% at epoch 4, chosen on the test split";
  EXPECT_THAT(results_section(report_of({run})),
              HasSubstr("Best of 4 evaluations: recall_any@1 50.00% at epoch "
                        "4, chosen on the test split."));
  EXPECT_THAT(results_section(report_of({run})), HasSubstr("flattered by it"));
  EXPECT_THAT(results_section(report_of({made_run("sap", 4, 0.9), run})),
              HasSubstr("rsk: best of 4 evaluations"));
  run.best = "recall_any@1 50.00% at epoch 4, chosen on the validation split";
  EXPECT_THAT(results_section(report_of({run})), Not(HasSubstr("flattered")));
  run = made_run("rsk", 1, 1.0);  // nothing was chosen
  run.best = "recall_any@1 50.00% at epoch 1, chosen on the test split";
  EXPECT_THAT(results_section(report_of({run})), Not(HasSubstr("chosen")));
}

TEST(ResultsSection, OfADistanceWithinClassesTheSmallestIsBold) {
  Report report = three_runs();
  double value = 0.5;
  for (RunRecord& run : report.runs) {
    RecordedMetric intra;
    intra.name = "intra";
    intra.is_share = false;
    intra.value = value -= 0.125;
    run.metrics = {intra};
    intra.name = "rho";  // describes, and is not good or bad
    run.metrics.push_back(intra);
  }
  const std::string html = results_section(report);
  EXPECT_EQ(count_of(html, "<strong>"), 1);
  EXPECT_THAT(html, HasSubstr("<strong>0.125</strong>"));
}

TEST(ResultsSection, RunsWithOtherRulesAreNotRanked) {
  Report report = three_runs();
  report.runs[1].rules = "10 queries";
  const std::string html = results_section(report);
  EXPECT_EQ(count_of(html, "<strong>"), 0);
  EXPECT_THAT(html, HasSubstr("not tested by the same rules"));
  EXPECT_THAT(html, HasSubstr("sap: Protocol standard, test split: 10 q"));
}

TEST(CurvesSection, HasAChartForEachMetricTheMainOneFirst) {
  const std::string html = curves_section(report_of({made_run("rsk", 6, 1.0)}));
  const size_t recall = html.find("data-chart=\"metric-recall_any@1\"");
  const size_t loss = html.find("data-chart=\"loss\"");
  const size_t map = html.find("data-chart=\"metric-map_at_r\"");
  EXPECT_LT(recall, loss);
  EXPECT_LT(loss, map);
  EXPECT_NE(map, std::string::npos);
  EXPECT_THAT(html, HasSubstr("data-chart=\"learning_rate\""));
  EXPECT_THAT(html, HasSubstr("data-chart=\"gradient_norm\""));
  EXPECT_EQ(count_of(html, "<figure"), 7);
}

TEST(CurvesSection, OneEvaluationIsNoCurve) {
  const std::string html = curves_section(report_of({made_run("rsk", 1, 1.0)}));
  EXPECT_THAT(html, HasSubstr("data-chart=\"loss\""));
  EXPECT_THAT(html, Not(HasSubstr("data-chart=\"metric")));
}

TEST(CurvesSection, RunsWithOtherBatchesAreComparedByImages) {
  const std::string same = curves_section(three_runs());
  EXPECT_THAT(same, HasSubstr(">step<"));
  EXPECT_THAT(same, HasSubstr("different losses"));
  const std::string other = curves_section(
      report_of({made_run("rsk", 3, 1.0, 400), made_run("rsk", 3, 1.0, 100)}));
  EXPECT_THAT(other, HasSubstr("thousand images seen"));
  EXPECT_THAT(other, Not(HasSubstr(">step<")));
}

TEST(CostSection, HasSharesSpeedAndMemory) {
  const std::string html = cost_section(report_of({made_run("rsk", 4, 1.0)}));
  EXPECT_THAT(html, HasSubstr("data-chart=\"phases\""));
  EXPECT_THAT(html, HasSubstr("backward: 55.4%"));
  EXPECT_THAT(html, HasSubstr(">2,216<"));     // images a second
  EXPECT_THAT(html, HasSubstr(">180.5 ms<"));  // a step
  EXPECT_THAT(html, HasSubstr(">16,000<"));    // images
  EXPECT_THAT(html, HasSubstr(">3.53 GB<"));
  EXPECT_THAT(html, HasSubstr(">50.0 ms<small>2.39 GB</small>"));
  EXPECT_THAT(html, HasSubstr(">2.5 s<"));  // five evaluations
}

TEST(DifferencesSection, HasAColumnForEachRun) {
  const std::string html = differences_section(three_runs());
  EXPECT_THAT(html, HasSubstr("<code>loss.name</code>"));
  EXPECT_THAT(html, HasSubstr("<code>triplet</code>"));
  EXPECT_EQ(count_of(html, "<tr>"), 2);
  const RunRecord run = made_run("rsk", 2, 1.0);
  EXPECT_THAT(differences_section(report_of({run, run})),
              HasSubstr("the same configuration"));
}

TEST(CorruptionsSection, TellsHowFarValuesFall) {
  const RunRecord run = with_corruptions(made_run("rsk", 2, 1.0));
  const std::string one = corruptions_section(report_of({run}));
  EXPECT_THAT(one, HasSubstr("as they are</th><td class=\"number\">90.00%</td>"
                             "<td class=\"number\">50.00%</td>"));
  EXPECT_THAT(one, HasSubstr("67.50%<small>−22.50</small>"));
  EXPECT_THAT(one, HasSubstr("mean of corrupted</th><td class=\"number\">"
                             "59.06%<small>−30.94</small>"));
  const std::string two =
      corruptions_section(report_of({made_run("bare", 2, 1.0), run}));
  EXPECT_THAT(two, HasSubstr("<h3>recall_any@1</h3>"));
  EXPECT_THAT(two, HasSubstr("<summary>map_at_r</summary>"));
}

TEST(RunSection, HasFactsAndTheConfiguration) {
  Report report = report_of({made_run("rsk", 4, 1.0)});
  report.runs[0].best = "recall_any@1 50.00% at epoch 4";
  const std::string html = run_section(report);
  EXPECT_THAT(html, HasSubstr("adam, learning rate 0.002"));
  EXPECT_THAT(html, HasSubstr("class_balanced, batches of 400, per class 4"));
  EXPECT_THAT(html, HasSubstr("csv, in data/glyphs"));
  EXPECT_THAT(html, HasSubstr("50.00% at epoch 4"));
  EXPECT_THAT(html, HasSubstr(">finished<"));
  EXPECT_THAT(html, Not(HasSubstr("Test split")));
  report.runs[0].ended_by = "train.patience";
  report.runs[0].test =
      TestPoint{4, 40, 90, {{}, "", {{"recall_any@1", 0.25}, {"x", 2}}}};
  const std::string tested = run_section(report);
  EXPECT_THAT(tested, HasSubstr("finished early, by train.patience"));
  EXPECT_THAT(results_section(report),
              HasSubstr("On the test split: recall_any@1 25.00%, x 2 (best "
                        "checkpoint, epoch 4)."));
  EXPECT_THAT(tested, HasSubstr("recall_any@1 25.00%, x 2 (best checkpoint, "
                                "epoch 4)"));
  EXPECT_THAT(html, HasSubstr("<summary>The whole configuration</summary>"));
  EXPECT_THAT(html, HasSubstr("t2: 0.05"));
  report.runs[0].finished = false;
  EXPECT_THAT(run_section(report),
              HasSubstr("not finished: step 40, in epoch 4 of 4"));
  apply_override(report.runs[0].config, "train.head_epochs=1");
  EXPECT_THAT(run_section(report), HasSubstr("in epoch 4 of 1 + 4"));
  EXPECT_THAT(run_section(report), Not(HasSubstr("Changed on the way")));
  report.runs[0].changes = {{2, 20, "train.epochs", "2", "4"}};
  EXPECT_THAT(run_section(report),
              HasSubstr("after epoch 2, step 20: train.epochs 2 → 4"));
}

TEST(StepSums, AStepStandsForThoseThatWereNotLogged) {
  RunRecord run = made_run("rsk", 1, 1.0);
  run.steps = {run.steps[4], run.steps[9]};  // log.every: 5
  const StepSums sums = sum_steps(run);
  EXPECT_EQ(sums.steps, 10);
  EXPECT_EQ(sums.images, 4000);
  EXPECT_NEAR(sums.seconds, 1.805, 1e-9);
  EXPECT_EQ(images_seen(run), (std::vector<double>{2000, 4000}));
}

TEST(NumberText, SaysNumbersShortly) {
  EXPECT_EQ(metric_text(0.97804, true), "97.80%");
  EXPECT_EQ(metric_text(0.123456, false), "0.1235");
  EXPECT_EQ(metric_text(NAN, true), kDash);
  // The difference of what is printed, not of what is behind it.
  EXPECT_EQ(difference_text(0.100049, 0.200051, true), "+10.01");
  EXPECT_EQ(difference_text(0.5, 0.25, true), "−25.00");
  EXPECT_EQ(difference_text(0.5, 0.500001, true), "0.00");
  EXPECT_EQ(difference_text(2, 0.5, false), "−1.5");
  EXPECT_EQ(duration_text(0.0123), "12.3 ms");
  EXPECT_EQ(duration_text(12.34), "12.3 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
  EXPECT_EQ(duration_text(NAN), kDash);
  EXPECT_EQ(memory_text(612), "612 MB");
  EXPECT_EQ(memory_text(10547), "10.30 GB");
  EXPECT_EQ(memory_text(0), kDash);
}

}  // namespace
}  // namespace kith
