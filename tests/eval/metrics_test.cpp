#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/evaluate.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

const std::vector<int64_t> kDepths = {1, 3, 10, 500};
const std::vector<std::string> kAll = {"recall_any@1,3,10,500",
                                       "recall_fraction@1,3,10,500",
                                       "recall_fraction_min@1,3,10,500",
                                       "precision@1,3,10,500",
                                       "ndcg@1,3,10,500",
                                       "r_precision",
                                       "map_at_r",
                                       "map",
                                       "mrr",
                                       "map_c",
                                       "map_1000",
                                       "precision_c"};

using Values = std::map<std::string, double>;

/// A sorted gallery: which items are positives.
struct KnownRanking {
  std::vector<bool> hit;
  double positives = 0;
  double class_size = 0;

  double hits(double k) const {
    double count = 0;
    for (size_t i = 0; i < hit.size() && static_cast<double>(i) < k; ++i) {
      count += hit[i];
    }
    return count;
  }
  /// Sum of precision@i over the places i <= limit with a positive.
  double precisions(double limit) const {
    double sum = 0;
    for (size_t i = 0; i < hit.size() && static_cast<double>(i) < limit; ++i) {
      const auto place = static_cast<double>(i + 1);
      if (hit[i]) sum += hits(place) / place;
    }
    return sum;
  }
  static double gain(const std::vector<bool>& hit, double k) {
    double sum = 0;
    for (size_t i = 0; i < hit.size() && static_cast<double>(i) < k; ++i) {
      if (hit[i]) sum += std::log(2) / std::log(static_cast<double>(i + 2));
    }
    return sum;
  }
  double reciprocal() const {
    const auto first = std::find(hit.begin(), hit.end(), true) - hit.begin();
    return 1 / static_cast<double>(first + 1);
  }
};

/// Adds the values of one ranked list, as protocols define them.
void add_query(const KnownRanking& r, Values& sums) {
  std::vector<bool> ideal = r.hit;
  std::sort(ideal.begin(), ideal.end(), std::greater<>());
  for (const int64_t depth : kDepths) {
    const auto k = static_cast<double>(depth);
    std::string at_k("@");
    at_k += std::to_string(depth);
    sums["recall_any" + at_k] += r.hits(k) > 0;
    sums["recall_fraction" + at_k] += r.hits(k) / r.positives;
    sums["recall_fraction_min" + at_k] += r.hits(k) / std::min(k, r.positives);
    sums["precision" + at_k] += r.hits(k) / k;
    sums["ndcg" + at_k] +=
        KnownRanking::gain(r.hit, k) / KnownRanking::gain(ideal, k);
  }
  sums["r_precision"] += r.hits(r.positives) / r.positives;
  sums["map_at_r"] += r.precisions(r.positives) / r.positives;
  sums["map"] += r.precisions(1e9) / r.positives;
  sums["mrr"] += r.reciprocal();
  sums["map_c"] += r.precisions(r.class_size) / r.class_size;
  sums["map_1000"] += r.precisions(1000) / r.class_size;
  sums["precision_c"] += r.hits(r.class_size) / r.class_size;
}

/// Embeddings in tensors that a reference can read.
struct Items {
  Tensor queries;
  Tensor query_labels;
  Tensor gallery;
  Tensor gallery_labels;
  Tensor self;  ///< -1: not in the gallery.

  Scored scored(bool with_self) const {
    Scored scored;
    scored.queries = queries;
    scored.query_labels = query_labels;
    scored.gallery = gallery;
    scored.gallery_labels = gallery_labels;
    if (with_self) scored.self = self;
    return scored;
  }
};

/// Sorts the whole gallery of every query; the mean over queries with
/// positives, or over all.
Values reference(const Items& s, bool misses) {
  const Tensor all =
      torch::mm(s.queries.to(torch::kDouble), s.gallery.to(torch::kDouble).t());
  const auto similarity = all.accessor<double, 2>();
  const auto label = s.gallery_labels.accessor<int64_t, 1>();
  Values sums;
  int64_t counted = 0;
  for (int64_t q = 0; q < s.queries.size(0); ++q) {
    std::vector<int64_t> order(static_cast<size_t>(s.gallery.size(0)));
    std::iota(order.begin(), order.end(), 0);
    const int64_t self = s.self.accessor<int64_t, 1>()[q];
    std::erase(order, self);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return similarity[q][a] > similarity[q][b];
    });
    KnownRanking ranking;
    for (int64_t j : order) {
      ranking.hit.push_back(label[j] ==
                            s.query_labels.accessor<int64_t, 1>()[q]);
    }
    ranking.positives = ranking.hits(1e9);
    ranking.class_size = ranking.positives + (self >= 0 ? 1 : 0);
    counted += misses || ranking.positives > 0;
    if (ranking.positives > 0) add_query(ranking, sums);
  }
  for (auto& [name, value] : sums) value /= static_cast<double>(counted);
  return sums;
}

void expect_equal(const EvalResult& result, const Values& expected) {
  ASSERT_EQ(result.metrics.size(), expected.size());
  for (const auto& [name, value] : expected) {
    EXPECT_NEAR(result.at(name), value, 1e-12) << name;
  }
}

EvalResult evaluate_all(const Scored& scored, bool misses) {
  EvaluateOptions options;
  options.misses = misses;
  return evaluate(scored, parse_metrics(kAll), options);
}

Tensor random_labels(int64_t n, int64_t classes, uint64_t seed) {
  return random_integers({n}, classes, seed).to(torch::kLong);
}

TEST(Evaluate, AmongThemselvesAgreesWithSortingEverything) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto n = static_cast<int64_t>(3 + 13 * seed);
    Items items;
    items.queries = items.gallery = random_integers({n, 3}, 2, seed);
    items.query_labels = items.gallery_labels =
        random_labels(n, 2 + n / 6, seed + 50);
    items.self = torch::arange(n, torch::kLong);
    Scored scored;
    scored.queries = items.queries;
    scored.query_labels = items.query_labels;
    for (const bool misses : {false, true}) {
      const EvalResult result = evaluate_all(scored, misses);
      expect_equal(result, reference(items, misses));
      EXPECT_TRUE(result.parts.at(0).self_excluded);
    }
  }
}

TEST(Evaluate, QueryAndGalleryAgreesWithSortingEverything) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Items items;
    items.queries = random_integers({25, 3}, 2, seed);
    items.query_labels = random_labels(25, 8, seed + 50);
    items.gallery = random_integers({60, 3}, 2, seed + 100);
    items.gallery_labels = random_labels(60, 6, seed + 150);
    items.self = torch::full({25}, -1, torch::kLong);
    for (const bool misses : {false, true}) {
      const EvalResult apart = evaluate_all(items.scored(false), misses);
      expect_equal(apart, reference(items, misses));
      EXPECT_FALSE(apart.parts.at(0).self_excluded);
    }

    // The first ten queries are items 5 to 14 of the gallery.
    items.self.slice(0, 0, 10).copy_(torch::arange(5, 15, torch::kLong));
    items.queries.slice(0, 0, 10).copy_(items.gallery.slice(0, 5, 15));
    items.query_labels.slice(0, 0, 10).copy_(
        items.gallery_labels.slice(0, 5, 15));
    const EvalResult overlapping = evaluate_all(items.scored(true), false);
    expect_equal(overlapping, reference(items, false));
    EXPECT_TRUE(overlapping.parts.at(0).self_excluded);
  }
}

TEST(Evaluate, QueriesWithoutPositives) {
  Scored scored;
  scored.queries = torch::tensor({1.f, 2.f, 3.f}).view({3, 1});
  scored.query_labels = labels_of({0, 0, 1});
  const EvalResult left_out = evaluate(scored, parse_metrics({"recall_any@2"}));
  EXPECT_EQ(left_out.parts.at(0).without_positives, 1);
  EXPECT_EQ(left_out.at("recall_any@2"), 1);
  EXPECT_NE(left_out.protocol_line().find("1 queries without positives left "
                                          "out"),
            std::string::npos)
      << left_out.protocol_line();
  EvaluateOptions options;
  options.misses = true;
  const EvalResult missed =
      evaluate(scored, parse_metrics({"recall_any@2"}), options);
  EXPECT_DOUBLE_EQ(missed.at("recall_any@2"), 2. / 3);
  EXPECT_NE(missed.protocol_line().find("count as misses"), std::string::npos);

  scored.query_labels = labels_of({0, 1, 2});
  const EvalResult none = evaluate(scored, parse_metrics({"map_at_r"}));
  EXPECT_TRUE(std::isnan(none.at("map_at_r")));
}

TEST(EvalResult, AtGivesNanForAMetricThatWasNotComputed) {
  EXPECT_TRUE(std::isnan(EvalResult().at("recall_any@1")));
}

/// What a bug in a metric gives.
class Constant final : public RankMetric {
 public:
  explicit Constant(double value) : value_(value) {}
  double value(const RankedQuery&) const override { return value_; }

 private:
  double value_;
};

class ConstantOfSet final : public SetMetric {
 public:
  explicit ConstantOfSet(double value) : value_(value) {}
  std::vector<double> values(const ScoredSet&) const override {
    return {value_};
  }
  MetricRange range() const override { return {-1, 2}; }

 private:
  double value_;
};

TEST(Evaluate, AValueOutsideTheRangeIsABug) {
  Scored scored;
  scored.queries = torch::eye(3);
  scored.query_labels = labels_of({0, 0, 1});
  const auto value_of = [&](std::unique_ptr<Metric> metric) {
    std::vector<NamedMetric> metrics;
    metrics.push_back({"mine@4", "", std::move(metric)});
    return evaluate(scored, metrics).metrics.at(0).value;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {4.0, -0.01, 1.001, nan, HUGE_VAL}) {
    expect_error<RunError>([&] { value_of(std::make_unique<Constant>(bad)); },
                           "mine@4", "from 0 to 1");
  }
  EXPECT_EQ(value_of(std::make_unique<Constant>(1)), 1);
  expect_error<RunError>(
      [&] { value_of(std::make_unique<ConstantOfSet>(2.5)); }, "mine@4", "2.5",
      "from -1 to 2");
  EXPECT_EQ(value_of(std::make_unique<ConstantOfSet>(-1)), -1);
  // A set may have none.
  EXPECT_TRUE(std::isnan(value_of(std::make_unique<ConstantOfSet>(nan))));
}

TEST(Better, IsNeverWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(is_better(2, 1, Better::kLarger));
  EXPECT_FALSE(is_better(1, 1, Better::kLarger));
  EXPECT_TRUE(is_better(1, 2, Better::kSmaller));
  EXPECT_FALSE(is_better(2, 1, Better::kSmaller));
  for (const Better better : {Better::kLarger, Better::kSmaller}) {
    for (const double bad : {nan, HUGE_VAL, -HUGE_VAL}) {
      EXPECT_FALSE(is_better(bad, 0.5, better));
      EXPECT_TRUE(is_better(0.5, bad, better));
      EXPECT_FALSE(is_better(bad, bad, better));
    }
  }
  EXPECT_FALSE(is_better(2, 1, Better::kNeither));
}

TEST(Better, IsKnownByName) {
  EXPECT_EQ(better_of("recall_any@10"), Better::kLarger);
  EXPECT_EQ(better_of("medium/map_trapezoid"), Better::kLarger);
  EXPECT_EQ(better_of("intra"), Better::kSmaller);
  EXPECT_EQ(better_of("separated/intra_over_inter"), Better::kSmaller);
  EXPECT_EQ(better_of("inter"), Better::kLarger);
  for (const char* none : {"rho", "rho_2", "spectrum", "class_spectrum",
                           "of another program", "recall_any"}) {
    EXPECT_EQ(better_of(none), Better::kNeither) << none;
  }
}

TEST(RankMetrics, OfAKnownRanking) {
  // Four positives at ranks 1, 3, 6 and 1500 of 2000; the query is in its
  // class of five.
  const std::vector<int64_t> ranks = {1, 3, 6, 1500};
  const RankedQuery query{ranks, 2000, 5};
  const auto value = [&](const std::string& name) {
    const std::vector<NamedMetric> metrics = parse_metrics({name});
    return dynamic_cast<const RankMetric&>(*metrics.at(0).metric).value(query);
  };
  EXPECT_DOUBLE_EQ(value("map"), (1 + 2. / 3 + 3. / 6 + 4. / 1500) / 4);
  EXPECT_DOUBLE_EQ(value("map@2000"), value("map"));
  EXPECT_DOUBLE_EQ(value("map@100"), (1 + 2. / 3 + 3. / 6) / 4);
  EXPECT_DOUBLE_EQ(value("map@3"), (1 + 2. / 3) / 3);
  EXPECT_DOUBLE_EQ(value("map_1000"), (1 + 2. / 3 + 3. / 6) / 5);
  EXPECT_DOUBLE_EQ(value("map_c"), (1 + 2. / 3) / 5);
  EXPECT_DOUBLE_EQ(value("map_at_r"), (1 + 2. / 3) / 4);
  EXPECT_DOUBLE_EQ(value("precision_c"), 2. / 5);
  EXPECT_DOUBLE_EQ(value("precision@1000"), 3. / 1000);
  EXPECT_DOUBLE_EQ(value("recall_fraction_min@2"), 1. / 2);
  EXPECT_DOUBLE_EQ(value("ndcg@3"), 1.5 / (1 + 1 / std::log2(3) + 1. / 2));
}

TEST(SetMetrics, NeedLabelsWhereClassesMatter) {
  ScoredSet set;
  set.gallery = set.queries = torch::eye(4);
  for (const char* name : {"nmi", "ami", "f1", "intra", "inter",
                           "intra_over_inter", "class_spectrum", "tar@0.1"}) {
    const std::vector<NamedMetric> metrics = parse_metrics({name});
    expect_error<DataError>(
        [&] {
          dynamic_cast<const SetMetric&>(*metrics.at(0).metric).values(set);
        },
        "no labels", "leave them out");
  }
}

TEST(ParseMetrics, ExpandsListsOfK) {
  std::vector<std::string> names;
  for (const NamedMetric& m :
       parse_metrics({"recall_any@1,10", "map_at_r", "precision@5"})) {
    names.push_back(m.name);
    EXPECT_FALSE(m.summary.empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"recall_any@1", "recall_any@10",
                                             "map_at_r", "precision@5"}));
}

TEST(ParseMetrics, RefusesWhatIsNoMetric) {
  const auto refused = [](const std::string& name, const auto&... parts) {
    expect_error<ConfigError>([&] { parse_metrics({name}); }, parts...);
  };
  refused("recall_ani@1", "'recall_ani'", "did you mean 'recall_any'?");
  refused("", "unknown metric");
  refused("recall_any", "needs a k");
  refused("precision", "needs a k");
  refused("map_at_r@5", "takes no k");
  for (const char* k :
       {"", "0", "-1", "x", "1,", "1.5", "1 ", "99999999999999999999"}) {
    refused(std::string("recall_any@") + k, "recall_any@1,10");
  }
  refused("nmi@5", "takes no k");
  refused("rho@0", "positive integer");
  for (const char* name : {"tar", "tar@-0.1", "tar@1.5"}) {
    refused(name, "false acceptance rate", "tar@0.001");
  }
}

TEST(SplitMetricList, KeepsNumbersWithTheirMetric) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(split_metric_list("map_at_r"), (Names{"map_at_r"}));
  EXPECT_EQ(split_metric_list("recall_any@1,10,map_at_r,precision@1,2"),
            (Names{"recall_any@1,10", "map_at_r", "precision@1,2"}));
}

}  // namespace
}  // namespace kith
