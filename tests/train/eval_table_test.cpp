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

}  // namespace
}  // namespace kith
