// Thresholds and what they do, against loops over all pairs and searches.
#include "kith/eval/decision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/evaluate.h"
#include "kith/eval/group_draws.h"
#include "kith/eval/open_set.h"
#include "kith/index/shared_rows.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr double kStep = 1.0 / (1 << 20);

/// Classes of `per_class` items around directions of their own, about
/// spread from them before they are scaled.
Scored clusters(int64_t classes, int64_t per_class, double spread,
                uint64_t seed, int64_t dim = 8) {
  const Tensor centres =
      normalize_rows(random_normal({classes, dim}, seed, torch::kFloat));
  Scored scored;
  scored.query_labels = torch::arange(classes).repeat_interleave(per_class);
  scored.queries =
      normalize_rows(centres.index_select(0, scored.query_labels) +
                     spread / std::sqrt(double(dim)) *
                         random_normal({classes * per_class, dim}, seed + 1000,
                                       torch::kFloat));
  return scored;
}

/// Similarities of -1, -0.5, 0, 0.5 and 1: most are equal.
Scored tied(int64_t count, int64_t classes, uint64_t seed) {
  Scored scored;
  scored.queries =
      (random_normal({count, 4}, seed) > 0).to(torch::kFloat) - 0.5;
  scored.query_labels = torch::arange(count).remainder(classes);
  return scored;
}

/// Of the first 20 items, which are in no gallery, among the rest.
Scored apart(const Scored& all, int64_t queries = 20) {
  Scored scored;
  const Tensor rows = all.queries.in_memory();
  scored.queries = rows.slice(0, 0, queries).contiguous();
  scored.query_labels = all.query_labels.slice(0, 0, queries).contiguous();
  scored.gallery = rows.slice(0, queries).contiguous();
  scored.gallery_labels = all.query_labels.slice(0, queries).contiguous();
  return scored;
}

/// Everything by loops over a matrix.
struct Naive {
  std::vector<double> positive;
  std::vector<double> negative;

  struct Answer {
    double similarity = -2;
    bool right = false;
    bool mated = false;
  };
  std::vector<Answer> answers;

  Naive(const Scored& scored, const std::set<int64_t>& unknown) {
    const bool is_apart = scored.gallery.defined();
    const Tensor queries = scored.queries.in_memory().to(torch::kDouble);
    const Tensor items =
        is_apart ? scored.gallery.in_memory().to(torch::kDouble) : queries;
    const Tensor labels =
        is_apart ? scored.gallery_labels : scored.query_labels;
    for (int64_t q = 0; q < queries.size(0); ++q) {
      Answer answer;
      const auto own = scored.query_labels[q].item<int64_t>();
      for (int64_t i = 0; i < items.size(0); ++i) {
        if (!is_apart && i == q) continue;
        const auto label = labels[i].item<int64_t>();
        // As kith compares: rounded to float32 once.
        const double s =
            queries[q].dot(items[i]).to(torch::kFloat).item<float>();
        if (is_apart || i > q) {
          (own == label ? positive : negative).push_back(s);
        }
        if (unknown.contains(label)) continue;
        answer.mated = answer.mated || own == label;
        if (s > answer.similarity) {
          answer.similarity = s;
          answer.right = own == label;
        }
      }
      answers.push_back(answer);
    }
  }

  static double share(const std::vector<double>& values, double t) {
    const auto n = std::count_if(values.begin(), values.end(),
                                 [t](double s) { return s >= t; });
    return double(n) / double(values.size());
  }
  double far(double t) const { return share(negative, t); }
  double tar(double t) const { return share(positive, t); }

  double auroc() const {
    double sum = 0;
    for (const double p : positive) {
      for (const double n : negative) sum += p > n ? 1 : p == n ? 0.5 : 0;
    }
    return sum / double(positive.size()) / double(negative.size());
  }
  double auprc() const {
    const std::set<double, std::greater<>> thresholds(positive.begin(),
                                                      positive.end());
    double sum = 0;
    double before = 0;
    for (const double t : thresholds) {
      const double right = tar(t) * double(positive.size());
      const double wrong = far(t) * double(negative.size());
      sum += (tar(t) - before) * right / (right + wrong);
      before = tar(t);
    }
    return sum;
  }

  /// {share of those for which `of` holds that `is` holds for too}
  template <class Of, class Is>
  double share_of(const Of& of, const Is& is) const {
    double all = 0;
    double part = 0;
    for (const Answer& a : answers) {
      if (!of(a)) continue;
      ++all;
      if (is(a)) ++part;
    }
    return part / all;
  }
  double precision(double t) const {
    return share_of(
        [t](const Answer& a) { return a.mated && a.similarity >= t; },
        [](const Answer& a) { return a.right; });
  }
  double coverage(double t) const {
    return share_of([](const Answer& a) { return a.mated; },
                    [t](const Answer& a) { return a.similarity >= t; });
  }
  double tpir(double t) const {
    return share_of(
        [](const Answer& a) { return a.mated; },
        [t](const Answer& a) { return a.right && a.similarity >= t; });
  }
  double fpir(double t) const {
    return share_of([](const Answer& a) { return !a.mated; },
                    [t](const Answer& a) { return a.similarity >= t; });
  }
};

DecisionOptions wanted(const std::string& wish,
                       std::vector<int64_t> unknown = {1, 3, 4}) {
  DecisionOptions options;
  options.wish = ThresholdWish::parse(wish);
  options.unknown_labels = std::move(unknown);
  options.bootstrap = 40;
  return options;
}

double value(const Decision& decision, const char* rate) {
  return decision.rate(rate).value;
}

void expect_rates(const Decision& decision, const Scored& scored) {
  const Naive all(scored, {});
  const Naive open(scored, {1, 3, 4});
  const double t = decision.threshold;
  EXPECT_DOUBLE_EQ(value(decision, "far"), all.far(t));
  EXPECT_DOUBLE_EQ(value(decision, "tar"), all.tar(t));
  EXPECT_DOUBLE_EQ(value(decision, "coverage"), all.coverage(t));
  EXPECT_DOUBLE_EQ(value(decision, "fpir"), open.fpir(t));
  EXPECT_DOUBLE_EQ(value(decision, "tpir"), open.tpir(t));
  if (all.coverage(t) > 0) {
    EXPECT_DOUBLE_EQ(value(decision, "precision"), all.precision(t));
  }
  // Pairs that share a cell count as equal.
  EXPECT_NEAR(value(decision, "auroc"), all.auroc(), 1e-3);
  EXPECT_NEAR(value(decision, "auprc"), all.auprc(), 1e-3);
}

std::vector<Scored> sets() {
  return {clusters(9, 7, 0.4, 1), tied(60, 6, 2), apart(clusters(9, 9, 0.5, 3)),
          apart(tied(90, 7, 4))};
}

TEST(Decision, RatesAreThoseOfLoopsOverAllPairsAndSearches) {
  for (const Scored& scored : sets()) {
    for (const char* t : {"-1", "-0.5", "0", "0.25", "0.5", "0.8125", "1"}) {
      const Decision decision = decide(scored, nullptr, wanted(t));
      EXPECT_EQ(decision.threshold, std::stod(t));
      EXPECT_FALSE(decision.interval) << "it was given";
      expect_rates(decision, scored);
    }
  }
}

TEST(Decision, AreasAreExactWhereNoTwoSimilaritiesShareACell) {
  const Scored scored = tied(60, 6, 2);
  const Decision decision = decide(scored, nullptr, wanted("0.5"));
  const Naive naive(scored, {});
  EXPECT_NEAR(value(decision, "auroc"), naive.auroc(), 1e-12);
  EXPECT_NEAR(value(decision, "auprc"), naive.auprc(), 1e-12);
}

TEST(Decision, ThresholdForFarIsTheLeastThatKeepsToIt) {
  for (const Scored& scored : sets()) {
    const Naive naive(scored, {});
    for (const char* rate : {"0.01", "0.05", "0.3", "0.9"}) {
      const double far = std::stod(rate);
      const auto options = wanted(std::string("far=") + rate);
      if (naive.far(1) > far) {  // half of the tied ones are equal
        expect_error<DataError>([&] { decide(scored, nullptr, options); },
                                "no threshold", "similarity of 1");
        continue;
      }
      const Decision decision = decide(scored, nullptr, options);
      const double t = decision.threshold;
      EXPECT_LE(naive.far(t), far);
      if (t > -1) {
        EXPECT_GT(naive.far(t - kStep), far);
      }
      expect_rates(decision, scored);
    }
  }
}

TEST(Decision, ThresholdForPrecisionIsTheLeastThatReachesIt) {
  const Scored scored = clusters(12, 8, 0.75, 7);
  const Naive naive(scored, {});
  const double all_accepted = naive.precision(-1);
  ASSERT_LT(all_accepted, 0.95);
  for (const double share : {0.1, 0.3}) {
    const std::string rate =
        std::to_string(all_accepted + share * (1 - all_accepted));
    const double precision = std::stod(rate);
    const Decision decision =
        decide(scored, nullptr, wanted("precision=" + rate));
    const double t = decision.threshold;
    EXPECT_GE(naive.precision(t), precision);
    for (const Naive::Answer& answer : naive.answers) {
      if (answer.similarity < t) {
        EXPECT_LT(naive.precision(answer.similarity), precision);
      }
    }
    expect_rates(decision, scored);
  }
  // Where all may be accepted the precision is Recall@1.
  const Decision all = decide(scored, nullptr, wanted("precision=0.1"));
  EXPECT_EQ(all.threshold, -1);
  EXPECT_EQ(value(all, "coverage"), 1);
  EXPECT_NEAR(
      value(all, "precision"),
      evaluate(scored, parse_metrics({"recall_any@1"})).at("recall_any@1"),
      1e-12);
}

TEST(Decision, ThresholdForFpirIsTheLeastThatKeepsToIt) {
  for (const Scored& scored :
       {clusters(9, 7, 0.4, 1), apart(clusters(9, 9, 0.5, 3))}) {
    const Naive open(scored, {1, 3, 4});
    for (const double fpir : {0.2, 0.5}) {
      const Decision decision =
          decide(scored, nullptr, wanted("fpir=" + std::to_string(fpir)));
      EXPECT_LE(open.fpir(decision.threshold), fpir);
      EXPECT_GT(open.fpir(decision.threshold - kStep), fpir);
      expect_rates(decision, scored);
    }
  }
}

TEST(Decision, IsPickedOnOneSetAndReportedOnAnother) {
  const Scored reported = clusters(9, 7, 0.4, 1);
  const Scored picked = clusters(30, 5, 0.3, 50);
  for (const char* wish : {"far=0.01", "precision=0.9", "fpir=0.2"}) {
    const Decision own = decide(picked, nullptr, wanted(wish));
    const Decision other = decide(reported, &picked, wanted(wish));
    EXPECT_EQ(other.threshold, own.threshold) << wish;
    EXPECT_TRUE(own.is_same_set);
    EXPECT_FALSE(other.is_same_set);
    ASSERT_TRUE(own.interval && other.interval);
    EXPECT_LE(other.interval->low, other.threshold);
    EXPECT_GE(other.interval->high, other.threshold);
    EXPECT_NEAR(other.interval->low, own.interval->low, 1e-3) << wish;
    expect_rates(other, reported);
  }
}

TEST(Decision, CurvesAreMonotoneAndHoldTheThreshold) {
  const Decision decision =
      decide(clusters(20, 6, 0.5, 9), nullptr, wanted("far=0.01"));
  const DecisionCurve& curve = decision.curve;
  const auto falls = [](const std::vector<double>& values) {
    return std::is_sorted(values.begin(), values.end(), std::greater<>());
  };
  EXPECT_TRUE(std::is_sorted(curve.threshold.begin(), curve.threshold.end()));
  for (const auto* rates :
       {&curve.far, &curve.tar, &curve.coverage, &curve.fpir, &curve.tpir}) {
    EXPECT_EQ(rates->size(), curve.threshold.size());
    EXPECT_TRUE(falls(*rates));
  }
  EXPECT_LE(curve.threshold.size(), 180U);
  EXPECT_EQ(curve.far.front(), 1);
  EXPECT_EQ(curve.tar.front(), 1);
  EXPECT_EQ(std::count(curve.threshold.begin(), curve.threshold.end(),
                       decision.threshold),
            1);
}

TEST(Decision, SeparatedClassesArePerfect) {
  const Decision decision =
      decide(clusters(10, 6, 0.001, 3, 64), nullptr, wanted("far=0.001"));
  for (const char* rate : {"tar", "auroc", "auprc", "precision", "tpir"}) {
    EXPECT_EQ(value(decision, rate), 1) << rate;
    EXPECT_NEAR(decision.rate(rate).interval->low, 1, 1e-9) << rate;
  }
  EXPECT_NEAR(decision.rate("auroc").interval->high, 1, 1e-9);
}

TEST(Decision, RandomLabelsHaveAnAurocOfOneHalf) {
  Scored scored = clusters(50, 8, 0.3, 5);
  scored.query_labels = random_permutation(400, 3).remainder(40);
  DecisionOptions options = wanted("far=0.1", {});
  options.bootstrap = 200;
  const MetricValue auroc = decide(scored, nullptr, options).rate("auroc");
  EXPECT_LT(auroc.interval->low, 0.5);
  EXPECT_GT(auroc.interval->high, 0.5);
  EXPECT_LT(auroc.interval->high - auroc.interval->low, 0.2);
}

TEST(Decision, DoesNotDependOnOrderBlocksOrThreads) {
  const Scored scored = clusters(40, 6, 0.5, 12);
  const Decision decision = decide(scored, nullptr, wanted("far=0.01"));
  Scored mixed = scored;
  const Tensor order = random_permutation(240, 1);
  mixed.queries = scored.queries.in_memory().index_select(0, order);
  mixed.query_labels = scored.query_labels.index_select(0, order);
  DecisionOptions options = wanted("far=0.01");
  options.memory_mb = 1;
  const Decision other = decide(mixed, nullptr, options);
  EXPECT_EQ(decision.threshold, other.threshold);
  EXPECT_DOUBLE_EQ(decision.interval->low, other.interval->low);
  for (const MetricValue& rate : decision.rates) {
    EXPECT_DOUBLE_EQ(rate.value, value(other, rate.name.c_str())) << rate.name;
    EXPECT_DOUBLE_EQ(rate.interval->low, other.rate(rate.name).interval->low)
        << rate.name;
  }
}

TEST(Decision, IntervalsCoverTheTruthAboutAsOftenAsTheySay) {
  // What a threshold of 0.6 does to classes of this kind, from many of them.
  const Scored many = clusters(700, 4, 0.5, 1);
  const double far = value(decide(many, nullptr, wanted("0.6", {})), "far");
  const double tar = value(decide(many, nullptr, wanted("0.6", {})), "tar");
  ASSERT_GT(far, 0.005);
  int covered_far = 0;
  int covered_tar = 0;
  constexpr int kSets = 60;
  for (int i = 0; i < kSets; ++i) {
    DecisionOptions options = wanted("0.6", {});
    options.bootstrap = 200;
    const Decision one =
        decide(clusters(30, 4, 0.5, 10 + uint64_t(i)), nullptr, options);
    const auto covers = [](const Interval& interval, double truth) {
      return interval.low <= truth && truth <= interval.high;
    };
    covered_far += covers(*one.rate("far").interval, far);
    covered_tar += covers(*one.rate("tar").interval, tar);
  }
  // 95% of 60 is 57, with a standard deviation of 1.7; percentile intervals of
  // 30 classes are narrow.
  EXPECT_GE(covered_far, 50);
  EXPECT_GE(covered_tar, 50);
}

TEST(Decision, RowsThatAreReadInBlocksGiveTheSame) {
  const Scored scored = clusters(12, 7, 0.5, 21);
  const Tensor rows = scored.queries.in_memory();
  Scored read = scored;
  read.queries =
      rows_from(rows.size(0), rows.size(1), [rows](int64_t first, int64_t n) {
        return rows.slice(0, first, first + n).contiguous();
      });
  const Decision a = decide(scored, nullptr, wanted("fpir=0.2"));
  const Decision b = decide(read, nullptr, wanted("fpir=0.2"));
  EXPECT_EQ(a.threshold, b.threshold);
  for (const MetricValue& rate : a.rates) {
    EXPECT_EQ(rate.value, value(b, rate.name.c_str())) << rate.name;
  }
}

TEST(Decision, RanksGiveTheNumbersOfOne) {
  const Scored scored = clusters(13, 5, 0.5, 31);
  for (const char* wish : {"far=0.01", "precision=0.8", "fpir=0.2"}) {
    const Decision alone = decide(scored, nullptr, wanted(wish));
    for (const int64_t size : {int64_t{2}, int64_t{3}}) {
      for (const bool is_shared : {false, true}) {
        const auto found = on_ranks<Decision>(size, [&](Communicator& ranks) {
          Scored own = scored;
          const Tensor rows = scored.queries.in_memory();
          const int64_t n = rows.size(0);
          if (is_shared) {
            own.queries = shared_rows(rows.slice(0, n * ranks.rank() / size,
                                                 n * (ranks.rank() + 1) / size)
                                          .clone(),
                                      ranks);
          }
          DecisionOptions options = wanted(wish);
          options.ranks = &ranks;
          return decide(own, nullptr, options);
        });
        for (const Decision& one : found) {
          EXPECT_EQ(one.threshold, alone.threshold);
          EXPECT_EQ(one.interval->low, alone.interval->low);
          EXPECT_EQ(one.curve.tpir, alone.curve.tpir);
          for (const MetricValue& rate : alone.rates) {
            EXPECT_EQ(value(one, rate.name.c_str()), rate.value) << rate.name;
            EXPECT_EQ(one.rate(rate.name).interval->high, rate.interval->high);
          }
        }
      }
    }
  }
}

TEST(Decision, RatesThatSoFewCannotShowAreErrors) {
  const Scored scored = clusters(5, 4, 0.4, 1);  // 160 pairs of two classes
  expect_error<DataError>(
      [&] { decide(scored, nullptr, wanted("far=0.001")); },
      "160 pairs of two classes cannot show a false-accept rate of 0.001");
  expect_error<DataError>(
      [&] { decide(scored, nullptr, wanted("precision=0.999", {1})); },
      "precision of 0.999");
  expect_error<DataError>(
      [&] { decide(scored, nullptr, wanted("fpir=0.01", {1})); },
      "4 searches without a mate cannot show");
  expect_error<DataError>(
      [&] { decide(scored, nullptr, wanted("fpir=0.5", {77})); },
      "every query has its class in the gallery");
  expect_error<DataError>(
      [&] {
        decide(scored, nullptr, wanted("0.5", {0, 1, 2, 3, 4}));
      },
      "leaves no class in the gallery");
}

TEST(Decision, PrecisionOutOfReachNamesTheBest) {
  Scored scored = clusters(20, 2, 2.0, 8, 16);
  scored.query_labels = random_permutation(40, 2).remainder(20);
  expect_error<DataError>(
      [&] { decide(scored, nullptr, wanted("precision=0.95")); },
      "no threshold reaches a precision of 0.95: the most is ");
}

TEST(Decision, OneClassOrNoneTwiceIsAnErrorOrUndefined) {
  Scored one = clusters(1, 6, 0.4, 1);
  expect_error<DataError>([&] { decide(one, nullptr, wanted("0.5")); },
                          "no pairs of two classes");
  const Scored singles = clusters(6, 1, 0.4, 1);
  const Decision decision = decide(singles, nullptr, wanted("0.5"));
  for (const char* rate : {"tar", "auroc", "precision", "coverage", "tpir"}) {
    EXPECT_TRUE(std::isnan(value(decision, rate))) << rate;
    EXPECT_FALSE(decision.rate(rate).interval) << rate;
  }
  EXPECT_FALSE(std::isnan(value(decision, "far")));
  // Every search is one for a class that is not there.
  EXPECT_EQ(decision.size.non_mated, 6);
}

TEST(Decision, QueriesWithoutAnswerAreLeftOutOrWrong) {
  Scored scored = clusters(10, 4, 0.01, 2);
  scored.query_labels[0] = 100;  // the only one of its class, far from others
  scored.queries.in_memory()[0].neg_();
  DecisionOptions options = wanted("-1", {});
  EXPECT_EQ(value(decide(scored, nullptr, options), "precision"), 1);
  options.misses = true;
  EXPECT_DOUBLE_EQ(value(decide(scored, nullptr, options), "precision"),
                   39.0 / 40);
}

TEST(Decision, NotANumberIsAnError) {
  Scored scored = clusters(5, 4, 0.4, 1);
  Tensor rows = scored.queries.in_memory().clone();
  rows[3][1] = std::numeric_limits<float>::quiet_NaN();
  scored.queries = rows;
  expect_error<DataError>([&] { decide(scored, nullptr, wanted("0.5")); },
                          "query 3");
}

TEST(Decision, ListsOfAnswersAreRefused) {
  Scored scored = clusters(2, 2, 0.4, 1);
  scored.lists.positives = {{1}, {0}, {3}, {2}};
  scored.lists.junk.resize(4);
  expect_error<ConfigError>([&] { decide(scored, nullptr, wanted("0.5")); },
                            "option 'threshold' needs classes");
}

TEST(ThresholdWish, ReadsAndWritesRatesAndThresholds) {
  for (const char* text : {"far=0.001", "far=1e-06", "precision=0.95",
                           "fpir=0.01", "0.62", "-1", "1"}) {
    EXPECT_EQ(ThresholdWish::parse(text).text(), text);
  }
  for (const char* text :
       {"", "far", "far=", "far=0", "far=1", "far=-0.1", "far=nan", "tar=0.1",
        "precision=2", "1.5", "nan", "0.5x", "far=0.1%"}) {
    expect_error<ConfigError>([&] { ThresholdWish::parse(text); },
                              "option 'threshold'", "far=RATE");
  }
}

TEST(OpenSet, DrawsAShareOfTheClasses) {
  const Tensor labels = torch::arange(60).remainder(20) * 7;
  EXPECT_EQ(draw_unknown(labels, 0.5, 1).size(), 10u);
  EXPECT_EQ(draw_unknown(labels, 0.5, 1), draw_unknown(labels, 0.5, 1));
  EXPECT_NE(draw_unknown(labels, 0.5, 1), draw_unknown(labels, 0.5, 2));
  EXPECT_EQ(draw_unknown(labels, 1e-9, 1).size(), 1u);
  EXPECT_EQ(draw_unknown(labels, 0.9999, 1).size(), 19u);
  EXPECT_TRUE(draw_unknown(labels, 0, 1).empty());
  EXPECT_TRUE(draw_unknown(torch::zeros({5}, torch::kLong), 0.5, 1).empty());
}

TEST(GroupDraws, GroupsNeighbouringClassesOfMany) {
  const Tensor labels = torch::arange(1000).floor_divide(2) * 3;
  const ClassGroups groups = group_classes(labels, labels, 128);
  EXPECT_EQ(groups.classes, 500);
  EXPECT_EQ(groups.groups, 128);
  EXPECT_TRUE(std::is_sorted(groups.of_query.begin(), groups.of_query.end()));
  EXPECT_EQ(groups.of_query, groups.of_item);
  std::map<int64_t, int64_t> sizes;
  for (const int64_t group : groups.of_query) ++sizes[group];
  EXPECT_EQ(sizes.size(), 128u);
  for (const auto& [group, size] : sizes) {
    EXPECT_GE(size, 6);
    EXPECT_LE(size, 8);
  }
  const Tensor draws = group_draws(128, 50, 1);
  EXPECT_TRUE(
      torch::equal(draws.sum(1), torch::full({50}, 128.0, at::kDouble)));
}

}  // namespace
}  // namespace kith
