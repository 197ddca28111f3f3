// Every kind of figure on made-up results.

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/study/figure.h"
#include "tests/support/markup.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

StudyAxis axis_of(const std::string& name,
                  const std::vector<std::string>& labels) {
  StudyAxis axis{name, {}};
  for (const std::string& label : labels) {
    axis.values.push_back({label, ConfigNode::map()});
  }
  return axis;
}

/// Batch size and SiMix.
Study small_study() {
  Study study;
  study.name = "small";
  study.title = "Batch size & SiMix";
  study.base = parse_config(
      "eval: {metrics: ['recall_any@1,2', rho, nmi, spectrum]}\n", "base");
  study.axes = {axis_of("batch", {"16", "64", "256"}),
                axis_of("SiMix", {"without", "with"})};
  study.seeds = {0, 1, 2};
  study.metrics = {"recall_any@1", "rho"};
  return study;
}

using Measure =
    std::function<std::map<std::string, double>(const Labels&, int64_t)>;

/// All runs of a study of two axes.
StudyResults results_of(const Study& study, const Measure& measure) {
  StudyResults results;
  results.study = &study;
  for (const AxisValue& a : study.axes.at(0).values) {
    for (const AxisValue& b : study.axes.at(1).values) {
      for (const int64_t seed : study.seeds) {
        RunResult run;
        run.labels = {a.label, b.label};
        run.seed = seed;
        run.metrics = measure(run.labels, seed);
        for (const int64_t epoch : {1, 2, 4}) {
          CurvePoint point{epoch, 10 * epoch, run.metrics};
          for (auto& [name, value] : point.metrics) {
            value *= 1.0 - 0.5 / static_cast<double>(epoch);
          }
          run.curve.push_back(point);
        }
        results.runs.push_back(std::move(run));
      }
    }
  }
  return results;
}

/// R@1 grows with the batch and with SiMix, rho falls with R@1.
std::map<std::string, double> plausible(const Labels& labels, int64_t seed) {
  const double r1 = 0.6 + 0.02 * std::log2(std::stod(labels[0])) +
                    (labels[1] == "with" ? 0.03 : 0.0) +
                    0.004 * static_cast<double>(seed);
  return {{"recall_any@1", r1}, {"rho", 1.0 - r1}, {"nmi", r1 * r1}};
}

std::unique_ptr<Figure> make(const std::string& yaml) {
  return figure_registry().make(parse_config(yaml, "figure"),
                                "study.figures.0");
}

/// What every drawing has to be.
std::string drawn(const std::string& yaml, const StudyResults& results) {
  const std::unique_ptr<Figure> figure = make(yaml);
  figure->check(*results.study);
  const std::string svg = figure->draw(results);
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_THAT(svg, HasSubstr("role=\"img\""));
  for (const char* number : {"\"nan", "\"inf", "\"-inf", " nan", " inf"}) {
    EXPECT_EQ(svg.find(number), std::string::npos) << number;
  }
  EXPECT_EQ(svg, figure->draw(results));  // to the byte
  return svg;
}

const char* const kAll[] = {
    "{name: lines, x: batch}",
    "{name: curves}",
    "{name: bars, x: batch, sort: true}",
    "{name: bars, x: SiMix, from_zero: true}",
    "{name: scatter}",
    "{name: scatter, points: runs, colour: SiMix}",
    "{name: correlations, metrics: [recall_any@1, rho, nmi]}",
    "{name: correlations, method: spearman}",
};

TEST(Figures, LinesHaveAPointForEachLabelWithItsInterval) {
  Study study = small_study();
  study.published = {{{"64", "with"}, {{"recall_any@1", 77.5}}}};
  const StudyResults results = results_of(study, plausible);
  const std::string svg =
      drawn("{name: lines, x: batch, scale: log, series: SiMix}", results);
  EXPECT_EQ(count_of(svg, "<path "), 2);
  // Six points, two in the legend, a ring and its own in the legend.
  EXPECT_EQ(count_of(svg, "<circle "), 6 + 2 + 2);
  EXPECT_EQ(count_of(svg, "class=\"i s"), 6 * 3);
  for (const char* text :
       {">with<", ">without<", ">published<", ">256<", "recall_any@1 (%)",
        "over 3 seeds", "Batch size &amp; SiMix"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_THAT(svg, HasSubstr("recall_any@1 (%) 75.4 ± 0.99"));
}

TEST(Figures, OnlyHoldsAnAxisToALabel) {
  const Study study = small_study();
  const StudyResults results = results_of(study, plausible);
  const std::string svg =
      drawn("{name: lines, x: batch, only: [SiMix=with, batch=16, batch=256]}",
            results);
  EXPECT_EQ(count_of(svg, "<path "), 1);
  EXPECT_EQ(count_of(svg, "<circle "), 2);
  EXPECT_THAT(svg, Not(HasSubstr(">64<")));
}

TEST(Figures, CurvesHaveALineAndABandForEachSeries) {
  const Study study = small_study();
  const StudyResults results = results_of(study, plausible);
  const std::string svg =
      drawn("{name: curves, x: step, only: [SiMix=with]}", results);
  EXPECT_EQ(count_of(svg, "<path "), 3 * 2);
  EXPECT_EQ(count_of(svg, "class=\"b f"), 3);
  EXPECT_THAT(svg, HasSubstr(">step<"));
}

TEST(Figures, BarsBeginAtZeroOrAreDots) {
  const Study study = small_study();
  const StudyResults results = results_of(study, plausible);
  const std::string dots = drawn("{name: bars, x: batch}", results);
  EXPECT_EQ(count_of(dots, "<circle "), 6 + 2);
  EXPECT_EQ(count_of(dots, "<rect "), 0);
  EXPECT_THAT(dots, HasSubstr("does not begin at zero"));
  const std::string bars =
      drawn("{name: bars, x: batch, from_zero: true}", results);
  EXPECT_EQ(count_of(bars, "<rect "), 6 + 2);
  EXPECT_THAT(bars, Not(HasSubstr("does not begin at zero")));
  EXPECT_THAT(bars, HasSubstr(">75.40 ± 0.99<"));
}

TEST(Figures, BarsCanBeSortedAndPutMissingOnesLast) {
  Study study = small_study();
  StudyResults results = results_of(study, plausible);
  std::erase_if(results.runs,
                [](const RunResult& run) { return run.labels[0] == "256"; });
  const std::string svg =
      drawn("{name: bars, x: batch, sort: true, only: [SiMix=with]}", results);
  EXPECT_LT(svg.find(">64<"), svg.find(">16<"));
  EXPECT_LT(svg.find(">16<"), svg.find(">256<"));
  EXPECT_THAT(svg, HasSubstr(">–<"));
}

TEST(Figures, ScatterTellsTheCorrelation) {
  const Study study = small_study();
  const StudyResults results = results_of(study, plausible);
  const std::string means = drawn("{name: scatter}", results);
  EXPECT_EQ(count_of(means, "<circle "), 6);
  EXPECT_THAT(means, HasSubstr("r = -1.00, 6 combinations"));
  EXPECT_THAT(means, HasSubstr(">64, with<"));
  const std::string runs =
      drawn("{name: scatter, points: runs, colour: SiMix}", results);
  EXPECT_EQ(count_of(runs, "<circle "), 18 + 2);
  EXPECT_THAT(runs, HasSubstr("18 runs"));
  EXPECT_THAT(runs, HasSubstr("64, seed 2: rho"));
  EXPECT_THAT(drawn("{name: scatter, only: [SiMix=with]}", results),
              HasSubstr(">64<"));
}

TEST(Figures, CorrelationsHaveANumberForEachPair) {
  const Study study = small_study();
  const StudyResults results = results_of(study, plausible);
  const std::string svg = drawn(
      "{name: correlations, metrics: [recall_any@1, rho], method: spearman}",
      results);
  EXPECT_EQ(count_of(svg, ">1.00<"), 2);
  EXPECT_EQ(count_of(svg, ">−1.00<"), 2);
  EXPECT_THAT(svg, HasSubstr("Spearman"));
  EXPECT_THAT(svg, HasSubstr("18 runs"));
}

TEST(Figures, SpectraComeFromTheRunsFolders) {
  const TempDir folder;
  write_file(folder.file("metrics.json"),
             R"({"last": {"metrics": {"spectrum": [0.5, 0.3, 0.2, null]}}})");
  const Study study = small_study();
  StudyResults results = results_of(study, plausible);
  for (RunResult& run : results.runs) run.folder = folder.path();
  const std::string svg = drawn(
      "{name: spectra, scale: log, length: 2, series: SiMix, "
      "only: [batch=64]}",
      results);
  EXPECT_EQ(count_of(svg, "class=\"l s"), 2 + 2);  // and in the legend
  write_file(folder.file("metrics.json"), "[1, 2");
  EXPECT_THROW(drawn("{name: spectra}", results), DataError);
  for (RunResult& run : results.runs) run.folder = folder.file("none");
  EXPECT_THAT(drawn("{name: spectra}", results), HasSubstr("no data"));
}

TEST(Figures, WithoutRunsTheySayThatThereIsNoData) {
  const Study study = small_study();
  StudyResults none;
  none.study = &study;
  for (const char* yaml : kAll) {
    SCOPED_TRACE(yaml);
    EXPECT_THAT(drawn(yaml, none),
                testing::AnyOf(HasSubstr("no data"), HasSubstr(">–<")));
  }
}

TEST(Figures, UndefinedNumbersAreLeftOut) {
  const Study study = small_study();
  const auto measure = [](const Labels& labels, int64_t seed) {
    auto metrics = plausible(labels, seed);
    if (labels[0] == "64") metrics["recall_any@1"] = kMissing;
    if (labels[0] == "16") metrics["rho"] = HUGE_VAL;
    return metrics;
  };
  const StudyResults results = results_of(study, measure);
  for (const char* yaml : kAll) {
    SCOPED_TRACE(yaml);
    drawn(yaml, results);
  }
  EXPECT_EQ(count_of(drawn("{name: scatter}", results), "<circle "), 2);
}

TEST(Figures, OneSeedOrTwoHaveNoInterval) {
  for (const std::vector<int64_t>& seeds :
       {std::vector<int64_t>{7}, std::vector<int64_t>{7, 8}}) {
    Study study = small_study();
    study.seeds = seeds;
    const StudyResults results = results_of(study, plausible);
    for (const char* yaml : kAll) {
      SCOPED_TRACE(yaml);
      const std::string svg = drawn(yaml, results);
      EXPECT_THAT(svg, Not(HasSubstr(" ± ")));
      EXPECT_EQ(count_of(svg, "class=\"i s"), 0);
    }
    EXPECT_THAT(drawn(kAll[0], results), HasSubstr("intervals"));
  }
}

TEST(Figures, OneLabelAndVeryManyAreDrawn) {
  std::vector<std::string> many;
  for (int i = 1; i <= 200; ++i) many.push_back(std::to_string(i));
  for (const auto& labels : {std::vector<std::string>{"16"}, many}) {
    Study study = small_study();
    study.axes[0] = axis_of("batch", labels);
    study.axes[1] = axis_of("SiMix", {"with"});
    const StudyResults results = results_of(study, plausible);
    for (const char* yaml : kAll) {
      SCOPED_TRACE(yaml);
      drawn(yaml, results);
    }
  }
}

TEST(Figures, ErrorsNameTheKeyAndTheNearestName) {
  const Study study = small_study();
  const auto fails = [&](const std::string& yaml,
                         const std::vector<std::string>& parts) {
    SCOPED_TRACE(yaml);
    try {
      make(yaml)->check(study);
      ADD_FAILURE() << "no error";
    } catch (const ConfigError& error) {
      for (const std::string& part : parts) {
        EXPECT_THAT(error.what(), HasSubstr(part));
      }
    }
  };
  fails("{name: lines, x: btch}", {"'lines', 'x'", "'btch'", "'batch'"});
  fails("{name: lines}", {"'lines' needs 'x'"});
  fails("{name: lines, x: SiMix}", {"'lines', 'x'", "'without'", "'bars'"});
  fails("{name: bars, x: batch, y: recall_any@3}",
        {"'bars', 'y'", "eval.metrics", "recall_any@2"});
  fails("{name: bars, x: batch, y: recal_any@1}",
        {"'bars', 'y'", "recall_any"});
  fails("{name: bars, x: batch, y: spectrum}", {"'bars', 'y'", "'spectra'"});
  fails("{name: bars, x: batch, y: 'recall_any@1,2'}", {"one metric"});
  fails("{name: spectra, y: rho}", {"'spectra', 'y'", "'class_spectrum'"});
  fails("{name: curves, series: SiMix}", {"'series'", "'batch'", "batch=16"});
  fails("{name: curves, series: SiMax}", {"'series'", "'SiMix'"});
  fails("{name: scatter, colour: simix}", {"'colour'", "'SiMix'"});
  fails("{name: scatter, only: [SiMix=wth]}", {"'only'", "'wth'", "'with'"});
  fails("{name: scatter, only: [SiMix]}", {"'only'", "SiMix=with"});
  fails("{name: correlations, metrics: [rhoo]}", {"'metrics'", "rhoo"});
  fails("{name: curves, x: hour}", {"x", "one of epoch, step"});
  fails("{name: lines, xx: batch}", {"xx"});
}

TEST(Figures, MetricsThatAStudyDoesNotNameAreTheUsualOnes) {
  Study study = small_study();
  study.base = parse_config("data: {name: sop}\n", "base");
  make("{name: bars, x: batch, y: recall_any@1000}")->check(study);
  EXPECT_THROW(make("{name: bars, x: batch, y: nmi}")->check(study),
               ConfigError);
}

TEST(Figures, OfFoldsAMetricHasToSayWhich) {
  Study study = small_study();
  study.folds = 4;
  EXPECT_THROW(make("{name: bars, x: batch}")->check(study), ConfigError);
  make("{name: bars, x: batch, y: concatenated/recall_any@1}")->check(study);
}

}  // namespace
}  // namespace kith
