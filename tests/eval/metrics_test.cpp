#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/eval_json.h"
#include "kith/eval/evaluate.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

const std::vector<std::string> kAll = {"recall_any@1,3,10,500",
                                       "precision@1,3,10,500", "map_at_r"};

using Values = std::map<std::string, double>;

/// Adds the values of one ranked list, as protocols define them.
void add_query(const std::vector<bool>& hit, int64_t positives, Values& sums) {
  for (size_t k : {1, 3, 10, 500}) {
    const auto end =
        hit.begin() + static_cast<std::ptrdiff_t>(std::min(k, hit.size()));
    const auto hits = std::count(hit.begin(), end, true);
    std::string at_k("@");
    at_k += std::to_string(k);
    sums["recall_any" + at_k] += hits > 0;
    sums["precision" + at_k] +=
        static_cast<double>(hits) / static_cast<double>(k);
  }
  double hits = 0;
  for (size_t i = 0; i < static_cast<size_t>(positives); ++i) {
    if (!hit[i]) continue;
    hits += 1;
    sums["map_at_r"] +=
        hits / static_cast<double>(i + 1) / static_cast<double>(positives);
  }
}

/// Sorts the whole gallery of every query; the mean over queries with
/// positives, or over all.
Values reference(const Scored& s, const Tensor& gallery,
                 const Tensor& gallery_labels, const Tensor& self,
                 bool misses) {
  const Tensor all =
      torch::mm(s.queries.to(torch::kDouble), gallery.to(torch::kDouble).t());
  const auto similarity = all.accessor<double, 2>();
  const auto label = gallery_labels.accessor<int64_t, 1>();
  Values sums;
  int64_t counted = 0;
  for (int64_t q = 0; q < s.queries.size(0); ++q) {
    std::vector<int64_t> order(static_cast<size_t>(gallery.size(0)));
    std::iota(order.begin(), order.end(), 0);
    std::erase(order, self.accessor<int64_t, 1>()[q]);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return similarity[q][a] > similarity[q][b];
    });
    std::vector<bool> hit;
    for (int64_t j : order) {
      hit.push_back(label[j] == s.query_labels.accessor<int64_t, 1>()[q]);
    }
    const auto positives = std::count(hit.begin(), hit.end(), true);
    counted += misses || positives > 0;
    if (positives > 0) add_query(hit, positives, sums);
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

Tensor random_labels(int64_t n, int64_t classes, uint64_t seed) {
  return random_integers({n}, classes, seed).to(torch::kLong);
}

TEST(Evaluate, AmongThemselvesAgreesWithSortingEverything) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto n = static_cast<int64_t>(3 + 13 * seed);
    Scored scored;
    scored.queries = random_integers({n, 3}, 2, seed);
    scored.query_labels = random_labels(n, 2 + n / 6, seed + 50);
    for (const bool misses : {false, true}) {
      const EvalResult result = evaluate(scored, parse_metrics(kAll), misses);
      expect_equal(result,
                   reference(scored, scored.queries, scored.query_labels,
                             torch::arange(n, torch::kLong), misses));
      EXPECT_TRUE(result.self_excluded);
    }
  }
}

TEST(Evaluate, QueryAndGalleryAgreesWithSortingEverything) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Scored scored;
    scored.queries = random_integers({25, 3}, 2, seed);
    scored.query_labels = random_labels(25, 8, seed + 50);
    scored.gallery = random_integers({60, 3}, 2, seed + 100);
    scored.gallery_labels = random_labels(60, 6, seed + 150);
    Tensor self = torch::full({25}, -1, torch::kLong);
    const auto expected = [&](bool misses) {
      return reference(scored, scored.gallery, scored.gallery_labels, self,
                       misses);
    };
    const EvalResult apart = evaluate(scored, parse_metrics(kAll));
    expect_equal(apart, expected(false));
    EXPECT_FALSE(apart.self_excluded);
    expect_equal(evaluate(scored, parse_metrics(kAll), true), expected(true));

    // The first ten queries are items 5 to 14 of the gallery.
    self.slice(0, 0, 10).copy_(torch::arange(5, 15, torch::kLong));
    scored.queries.slice(0, 0, 10).copy_(scored.gallery.slice(0, 5, 15));
    scored.query_labels.slice(0, 0, 10).copy_(
        scored.gallery_labels.slice(0, 5, 15));
    scored.self = self;
    const EvalResult overlapping = evaluate(scored, parse_metrics(kAll));
    expect_equal(overlapping, expected(false));
    EXPECT_TRUE(overlapping.self_excluded);
  }
}

TEST(Evaluate, QueriesWithoutPositives) {
  Scored scored;
  scored.queries = torch::tensor({1.f, 2.f, 3.f}).view({3, 1});
  scored.query_labels = labels_of({0, 0, 1});
  const EvalResult left_out = evaluate(scored, parse_metrics({"recall_any@2"}));
  EXPECT_EQ(left_out.without_positives, 1);
  EXPECT_EQ(left_out.at("recall_any@2"), 1);
  EXPECT_NE(left_out.protocol_line().find("1 queries without positives left "
                                          "out"),
            std::string::npos)
      << left_out.protocol_line();
  const EvalResult missed =
      evaluate(scored, parse_metrics({"recall_any@2"}), /*misses=*/true);
  EXPECT_DOUBLE_EQ(missed.at("recall_any@2"), 2. / 3);
  EXPECT_NE(missed.protocol_line().find("count as misses"), std::string::npos);

  scored.query_labels = labels_of({0, 1, 2});
  const EvalResult none = evaluate(scored, parse_metrics({"map_at_r"}));
  EXPECT_TRUE(std::isnan(none.at("map_at_r")));
  EXPECT_NE(eval_json(none).find("\"map_at_r\":null"), std::string::npos)
      << eval_json(none);
}

TEST(EvalResult, AtGivesNanForAMetricThatWasNotComputed) {
  EXPECT_TRUE(std::isnan(EvalResult().at("recall_any@1")));
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
}

TEST(SplitMetricList, KeepsNumbersWithTheirMetric) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(split_metric_list("map_at_r"), (Names{"map_at_r"}));
  EXPECT_EQ(split_metric_list("recall_any@1,10,map_at_r,precision@1,2"),
            (Names{"recall_any@1,10", "map_at_r", "precision@1,2"}));
}

}  // namespace
}  // namespace kith
