// Every metric and every protocol on embeddings that are hard to compare: the
// right number or an error, never another number. In memory and from files, on
// every device.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/clusters.h"
#include "kith/eval/diagnostics.h"
#include "kith/eval/embedded_split.h"
#include "tests/eval/degenerate_rows.h"
#include "tests/eval/naive_metrics.h"
#include "tests/eval/sets.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Test images with everything that some protocol wants: eight classes, two
/// queries in the gallery of three, lists and right answers.
ImageList image_list() {
  ImageList list;
  list.items.resize(kItems);
  list.has_query_gallery = true;
  for (int64_t i = 0; i < kItems; ++i) {
    Item& item = list.items[static_cast<size_t>(i)];
    item.path = std::to_string(i) + ".jpg";
    item.split = Split::kTest;
    item.label = i % 8;
    item.is_query = i % 3 == 0;
    item.is_gallery = i % 3 != 0 || i % 2 == 0;
    for (const auto& [name, size] :
         {std::pair("small", 20), std::pair("medium", 30),
          std::pair("large", 40)}) {
      if (i < size) list.lists[name].push_back(i);
    }
  }
  for (int64_t q = 0; q < kItems; q += 3) {
    list.lists[q % 4 == 0 ? "private" : "public"].push_back(q);
    QueryTruth truth{q, {}, {}, {}};
    for (int64_t i = 0; i < kItems; ++i) {
      if (i == q || !list.items[static_cast<size_t>(i)].is_gallery) continue;
      if (i % 8 == q % 8) (i % 3 == 1 ? truth.easy : truth.hard).push_back(i);
      if (i % 8 == (q + 1) % 8) truth.junk.push_back(i);
    }
    list.truths.push_back(truth);
  }
  return list;
}

std::vector<int64_t> labels_at(const std::vector<int64_t>& items) {
  return image_list().labels(items);
}

Scored scored_task(const EvalTask& task,
                   const std::function<Rows(const std::vector<int64_t>&)>& at) {
  Scored scored;
  scored.queries = at(task.queries);
  scored.gallery =
      task.gallery == task.queries ? scored.queries : at(task.gallery);
  scored.query_labels = labels_of(labels_at(task.queries));
  scored.gallery_labels = labels_of(labels_at(task.gallery));
  std::vector<int64_t> self;
  for (const int64_t query : task.queries) {
    const auto found =
        std::find(task.gallery.begin(), task.gallery.end(), query);
    self.push_back(found == task.gallery.end() ? -1
                                               : found - task.gallery.begin());
  }
  scored.self = labels_of(self);
  scored.lists = task.lists;
  return scored;
}

/// Every query's gallery, sorted.
std::vector<naive::Ranking> rankings(const EvalTask& task, const Tensor& unit) {
  const Tensor all = torch::mm(unit, unit.t()).to(torch::kFloat);
  const auto similarity = all.accessor<float, 2>();
  std::vector<naive::Ranking> result;
  for (size_t q = 0; q < task.queries.size(); ++q) {
    const int64_t query = task.queries[q];
    std::vector<int64_t> order;  // Positions in the gallery.
    naive::Ranking ranking;
    for (int64_t g = 0; g < std::ssize(task.gallery); ++g) {
      const bool own = task.gallery[static_cast<size_t>(g)] == query;
      if (own) ranking.own = 1;
      if (own || (!task.lists.empty() && holds(task.lists.junk[q], g)))
        continue;
      order.push_back(g);
    }
    const auto item = [&](int64_t g) {
      return task.gallery[static_cast<size_t>(g)];
    };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return similarity[query][item(a)] > similarity[query][item(b)];
    });
    for (const int64_t g : order) {
      ranking.hit.push_back(task.lists.empty()
                                ? item(g) % 8 == query % 8
                                : holds(task.lists.positives[q], g));
    }
    result.push_back(ranking);
  }
  return result;
}

double mean_of(const std::vector<naive::Ranking>& all,
               naive::RankFunction value, double k) {
  double sum = 0;
  double count = 0;
  for (const naive::Ranking& ranking : all) {
    if (ranking.positives() == 0) continue;
    sum += value(ranking, k);
    ++count;
  }
  return sum / count;
}

/// One of every registered metric, with a number where it needs one.
std::vector<NamedMetric> every_metric(bool of_queries) {
  std::vector<NamedMetric> all;
  for (const std::string& name : metric_registry().names()) {
    std::vector<NamedMetric> made;
    try {
      made = parse_metrics({name});
    } catch (const ConfigError&) {
      made = parse_metrics({name + (name == "tar" ? "@0.1" : "@3")});
    }
    const bool ranks =
        dynamic_cast<const RankMetric*>(made[0].metric.get()) != nullptr;
    if (ranks == of_queries) all.push_back(std::move(made[0]));
  }
  return all;
}

/// "precision@3" is "precision" and 3.
std::pair<std::string, double> name_and_number(const std::string& name) {
  const size_t at = name.find('@');
  return {name.substr(0, at),
          at == std::string::npos ? 1e9 : std::stod(name.substr(at + 1))};
}

void expect_near(double found, double expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected)) {
    EXPECT_EQ(std::isnan(found), std::isnan(expected)) << found;
    EXPECT_EQ(std::isinf(found), std::isinf(expected)) << found;
    return;
  }
  EXPECT_NEAR(found, expected, tolerance);
}

void expect_ranks(const Scored& scored,
                  const std::vector<naive::Ranking>& expected) {
  const std::vector<NamedMetric> metrics = every_metric(/*of_queries=*/true);
  const EvalResult result = evaluate(scored, metrics);
  for (const NamedMetric& metric : metrics) {
    SCOPED_TRACE(metric.name);
    const auto [name, k] = name_and_number(metric.name);
    const auto value = naive::rank_metrics().find(name);
    ASSERT_NE(value, naive::rank_metrics().end()) << "write it in naive::";
    expect_near(result.at(metric.name), mean_of(expected, value->second, k),
                1e-12);
  }
  const Diagnostics found = diagnose(scored);
  for (size_t q = 0; q < expected.size(); ++q) {
    expect_near(found.queries[q].average_precision,
                expected[q].precisions(1e9) / expected[q].positives(), 1e-12);
  }
}

/// All that evaluates these rows says why it does not.
void expect_refused(const std::function<Scored()>& scored,
                    const std::vector<NamedMetric>& metrics,
                    const std::string& why) {
  for (const NamedMetric& metric : metrics) {
    SCOPED_TRACE(metric.name);
    expect_error<DataError>(
        [&] {
          std::vector<NamedMetric> one = parse_metrics({metric.name});
          evaluate(scored(), one);
        },
        why);
  }
  expect_error<DataError>([&] { diagnose(scored()); }, why);
}

/// Calls check(rows at positions, why they are refused or "") for a case on
/// every device, in memory, from a file that is loaded and from one that is
/// read in blocks.
template <class Check>
void for_each_source(const Check& check) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Sources sources(c);
    for (const c10::Device& device : devices()) {
      SCOPED_TRACE(device.str());
      using Items = std::vector<int64_t>;
      check(sources.unit(), c.in_memory,
            [&](const Items& items) { return sources.memory(items, device); });
      for (const int64_t memory_mb : {0, 64}) {
        SCOPED_TRACE(memory_mb == 0 ? "file in blocks" : "file");
        check(sources.unit(), c.from_file, [&](const Items& items) {
          return sources.file(items, device, memory_mb);
        });
      }
    }
  }
}

/// Of every protocol; of tasks of one name, which are draws, the first.
std::vector<EvalTask> every_task() {
  std::vector<EvalTask> all;
  for (const std::string& name : protocol_registry().names()) {
    const auto protocol =
        protocol_registry().at(name, "").make(ConfigNode::map(), "");
    std::set<std::string> seen;
    for (EvalTask& task : eval_tasks(*protocol, image_list(), Split::kTest)) {
      if (!seen.insert(task.name).second) continue;
      task.name = name + "/" + task.name;
      all.push_back(std::move(task));
    }
  }
  return all;
}

TEST(Degenerate, EveryProtocolGivesTheRightNumbersOrNone) {
  const std::vector<NamedMetric> metrics = parse_metrics({"recall_any@1"});
  const std::vector<EvalTask> tasks = every_task();
  for_each_source(
      [&](const Tensor& unit, const std::string& why, const auto& rows) {
        for (const EvalTask& task : tasks) {
          SCOPED_TRACE(task.name);
          const auto scored = [&] { return scored_task(task, rows); };
          if (why.empty()) {
            expect_ranks(scored(), rankings(task, unit));
          } else {
            expect_refused(scored, metrics, why);
          }
        }
      });
}

naive::Set naive_set(const Tensor& unit) {
  naive::Set set{unit, {}, {}};
  for (int64_t i = 0; i < kItems; ++i) {
    set.labels.push_back(i % 8);
    set.clusters.push_back(i * i % 7);
  }
  return set;
}

void expect_set(const Scored& scored, const std::vector<NamedMetric>& metrics,
                const naive::Set& expected) {
  EvaluateOptions options;
  options.clusters = labels_of(expected.clusters);
  const EvalResult result = evaluate(scored, metrics, options);
  for (size_t m = 0; m < metrics.size(); ++m) {
    const MetricValue& found = result.metrics[m];
    SCOPED_TRACE(found.name);
    if (found.name == "ami") {
      EXPECT_EQ(found.value, adjusted_mutual_information(contingency(
                                 expected.labels, expected.clusters)));
      continue;
    }
    const auto [name, at] = name_and_number(found.name);
    const auto value = naive::set_metrics().find(name);
    ASSERT_NE(value, naive::set_metrics().end()) << "write it in naive::";
    const naive::Numbers right = value->second(expected, at);
    if (found.list.empty()) {
      expect_near(found.value, right.at(0), 2e-6);
      continue;
    }
    ASSERT_EQ(found.list.size(), right.size());
    for (size_t i = 0; i < right.size(); ++i) {
      expect_near(found.list[i], right[i], 2e-6);
    }
  }
}

TEST(Degenerate, EveryMetricOfASetGivesTheRightNumbersOrNone) {
  std::vector<int64_t> all(kItems);
  std::iota(all.begin(), all.end(), 0);
  const EvalTask task{"", all, all};
  const std::vector<NamedMetric> metrics = every_metric(/*of_queries=*/false);
  for_each_source(
      [&](const Tensor& unit, const std::string& why, const auto& rows) {
        const auto scored = [&] { return scored_task(task, rows); };
        if (why.empty()) {
          expect_set(scored(), metrics, naive_set(unit));
          evaluate(scored(), metrics);  // clusters by k-means: within its range
        } else {
          expect_refused(scored, metrics, why);
        }
      });
}

TEST(Degenerate, TheRowIsNamed) {
  Tensor rows = usual_rows();
  rows[kBroken][1] = NAN;
  const Scored scored{rows, labels_of(naive_set(rows).labels), {}, {}, {}};
  expect_error<DataError>(
      [&] { evaluate(scored, parse_metrics({"recall_any@1"})); }, "query 8",
      "NaN");
}

}  // namespace
}  // namespace kith
