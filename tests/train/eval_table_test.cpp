#include "kith/train/eval_table.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kith {
namespace {

using History = std::vector<RunPoint>;

EvalResult result(double recall, double intra) {
  EvalResult r;
  r.metrics.push_back({"recall_any@1", recall, ""});
  r.metrics.push_back({"intra", intra, ""});
  r.metrics.back().is_share = false;
  r.metrics.back().better = Better::kSmaller;
  r.metrics.push_back({"spectrum", 0, "", {0.5, 0.5}});
  return r;
}

RunPoint point(int64_t epoch, double recall, double intra) {
  return {epoch,
          10 * epoch,
          {{},
           "",
           {{"recall_any@1", recall},
            {"intra", intra},
            {"spectrum", NAN, {0.5, 0.5}}}}};
}

TEST(EvalTable, TheFirstHasValuesOnly) {
  EXPECT_EQ(eval_table("before training", result(0.25, 0.123456),
                       History({point(0, 0.25, 0.123456)})),
            "before training\n"
            "  metric         value\n"
            "  recall_any@1  25.00%\n"
            "  intra         0.1235");
}

TEST(EvalTable, ShowsChangeAndBest) {
  const History history = History({point(0, 0.995, 1), point(1, 0.97, 0.5),
                                   point(2, 0.99, 0.4), point(3, 0.978, 0.5)});
  EXPECT_EQ(eval_table("after epoch 3", result(0.978, 0.5), history),
            "after epoch 3\n"
            "  metric         value  change    best  epoch\n"
            "  recall_any@1  97.80%   -1.20  99.00%      2\n"
            "  intra            0.5    +0.1     0.4      2");
}

TEST(EvalTable, WhatOnlyDescribesHasNoBest) {
  EvalResult r;
  r.metrics.push_back({"rho", 0.5, ""});
  r.metrics.back().is_share = false;
  r.metrics.back().better = Better::kNeither;
  const auto at = [](int64_t epoch) {
    return RunPoint{epoch, epoch, {{}, "", {{"rho", 0.5}}}};
  };
  EXPECT_EQ(eval_table("after epoch 2", r, History({at(1), at(2)})),
            "after epoch 2\n"
            "  metric  value  change  best  epoch\n"
            "  rho       0.5      +0     -      -");
}

TEST(EvalTable, UndefinedValuesAreDashes) {
  const History history = History({point(1, NAN, 0.5), point(2, NAN, 0.5)});
  EXPECT_EQ(eval_table("after epoch 2", result(NAN, 0.5), history),
            "after epoch 2\n"
            "  metric        value  change  best  epoch\n"
            "  recall_any@1      -       -     -      -\n"
            "  intra           0.5      +0   0.5      1");
}

TEST(LastMetricText, NamesTheEpochOfTheLastEvaluation) {
  EXPECT_EQ(last_metric_text({}, "recall_any@1"), "");
  const History history({point(0, 0.25, 0.5), point(2, 0.981, 0.1234)});
  EXPECT_EQ(last_metric_text(history, "recall_any@1"),
            "recall_any@1 98.10% (epoch 2)");
  EXPECT_EQ(last_metric_text(history, "intra"), "intra 0.1234 (epoch 2)");
  EXPECT_EQ(last_metric_text(history, "map_at_r"), "");
  EXPECT_EQ(last_metric_text(History({point(1, NAN, 1)}), "recall_any@1"),
            "recall_any@1 - (epoch 1)");
}

TEST(LastMetricText, IsOfTheFirstPartOrOfTheOneNamed) {
  const History history({RunPoint{
      3,
      30,
      {{},
       "",
       {{"medium/map_trapezoid", 0.5}, {"hard/map_trapezoid", 0.25}}}}});
  EXPECT_EQ(last_metric_text(history, "map_trapezoid"),
            "medium/map_trapezoid 50.00% (epoch 3)");
  EXPECT_EQ(last_metric_text(history, "hard/map_trapezoid"),
            "hard/map_trapezoid 25.00% (epoch 3)");
}

}  // namespace
}  // namespace kith
