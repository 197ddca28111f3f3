// Every metric and protocol gives with several ranks what it gives with one.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/evaluator.h"
#include "kith/index/shared_rows.h"
#include "kith/ops/pairwise.h"
#include "tests/eval/fixed_net.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

/// Every metric of the registry, with a number where it needs one.
std::vector<NamedMetric> every_metric() {
  std::vector<std::string> names;
  for (const std::string& name : metric_registry().names()) {
    for (const char* number : {"", "@1", "@4", "@0.01"}) {
      try {
        parse_metrics({name + number});
        names.push_back(name + number);
      } catch (const ConfigError&) {  // needs a number, or takes none
      }
    }
  }
  EXPECT_GT(names.size(), metric_registry().names().size());
  return parse_metrics(names);
}

/// The same bits, NaN too.
bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [](double x, double y) { return same(x, y); });
}

void expect_same(const EvalResult& own, const EvalResult& alone,
                 int64_t ranks) {
  ASSERT_EQ(own.metrics.size(), alone.metrics.size());
  for (size_t m = 0; m < own.metrics.size(); ++m) {
    const MetricValue& a = own.metrics[m];
    const MetricValue& b = alone.metrics[m];
    const std::string where = b.name + ", ranks " + std::to_string(ranks);
    EXPECT_EQ(a.name, b.name);
    EXPECT_TRUE(same(a.value, b.value)) << where;
    EXPECT_TRUE(same(a.list, b.list)) << where;
    EXPECT_TRUE(same(a.by_query, b.by_query)) << where;
    ASSERT_EQ(a.interval.has_value(), b.interval.has_value()) << where;
    if (!a.interval) continue;
    EXPECT_TRUE(same(a.interval->low, b.interval->low)) << where;
    EXPECT_TRUE(same(a.interval->high, b.interval->high)) << where;
  }
  EXPECT_EQ(own.protocol_line(), alone.protocol_line());
  EXPECT_EQ(own.parts[0].query_labels, alone.parts[0].query_labels);
}

EvaluateOptions options_with(Communicator* ranks, int64_t memory_mb = 512) {
  EvaluateOptions options;
  options.bootstrap = 20;
  options.by_query = true;
  options.memory_mb = memory_mb;
  options.ranks = ranks;
  return options;
}

/// Rows of few values: equal ones are many. Some classes have one item.
Scored tied_items(int64_t count) {
  Scored scored;
  scored.queries = normalize_rows(random_integers({count, 4}, 2, 3) + 0.25);
  scored.query_labels = torch::arange(count).floor_divide(3);
  return scored;
}

/// Queries that are in the gallery, are not, or have no answer in it.
Scored tied_items_apart(int64_t queries, int64_t gallery) {
  const Tensor rows =
      normalize_rows(random_integers({queries + gallery, 4}, 2, 4) + 0.25);
  Scored scored;
  scored.gallery = rows.slice(0, queries).contiguous();
  scored.gallery_labels = torch::arange(gallery).floor_divide(5);
  Tensor own = rows.slice(0, 0, queries).clone();
  own[1].copy_(scored.gallery.in_memory()[7]);
  scored.queries = own;
  scored.query_labels = torch::arange(queries).floor_divide(2);
  scored.query_labels[2] = 1000;
  scored.self = torch::full({queries}, -1, torch::kLong);
  scored.self[1] = 7;
  return scored;
}

Tensor share_of(const Rows& rows, const Communicator& ranks) {
  const Tensor all = rows.in_memory();
  const int64_t n = all.size(0);
  return all
      .slice(0, n * ranks.rank() / ranks.size(),
             n * (ranks.rank() + 1) / ranks.size())
      .clone();
}

/// Each rank with its own rows only.
Scored shared(Scored scored, Communicator& ranks) {
  scored.queries = shared_rows(share_of(scored.queries, ranks), ranks);
  if (scored.gallery.defined()) {
    scored.gallery = shared_rows(share_of(scored.gallery, ranks), ranks);
  }
  return scored;
}

void expect_same_on_ranks(const Scored& scored, int64_t memory_mb = 512) {
  const std::vector<NamedMetric> metrics = every_metric();
  const EvalResult alone =
      evaluate(scored, metrics, options_with(nullptr, memory_mb));
  for (const int64_t size : kRankCounts) {
    for (const bool is_shared : {false, true}) {
      const auto found = on_ranks<EvalResult>(size, [&](Communicator& ranks) {
        return evaluate(is_shared ? shared(scored, ranks) : scored, metrics,
                        options_with(&ranks, memory_mb));
      });
      for (const EvalResult& own : found) expect_same(own, alone, size);
    }
  }
}

TEST(EvaluateRanks, EveryMetricIsThatOfOneRank) {
  expect_same_on_ranks(tied_items(61));
}

TEST(EvaluateRanks, EveryMetricIsThatOfOneRankInSmallBlocks) {
  expect_same_on_ranks(tied_items(1300), 1);
}

TEST(EvaluateRanks, EveryMetricIsThatOfOneRankForAGalleryApart) {
  expect_same_on_ranks(tied_items_apart(9, 50));
}

TEST(EvaluateRanks, MoreRanksThanItemsAreFine) {
  expect_same_on_ranks(tied_items(6));
}

TEST(EvaluateRanks, JunkIsLeftOutAsByOneRank) {
  Scored scored = tied_items_apart(4, 40);
  scored.self = Tensor();
  scored.lists.positives = {{3, 1}, {}, {39, 0, 20}, {5}};
  scored.lists.junk = {{2, 30}, {4}, {}, {6, 7, 8}};
  const std::vector<NamedMetric> metrics =
      parse_metrics({"map", "map@10", "mp@1,5,10", "recall_any@1,10"});
  const EvalResult alone = evaluate(scored, metrics, options_with(nullptr));
  for (const int64_t size : kRankCounts) {
    const auto found = on_ranks<EvalResult>(size, [&](Communicator& ranks) {
      return evaluate(shared(scored, ranks), metrics, options_with(&ranks));
    });
    for (const EvalResult& own : found) expect_same(own, alone, size);
  }
}

TEST(EvaluateRanks, AnErrorOfOneRankEndsAll) {
  const Scored scored = tied_items(60);
  const auto evaluate_broken = [&](Communicator& ranks) {
    Scored own = shared(scored, ranks);
    if (ranks.rank() == 1) own.query_labels = own.query_labels.to(at::kFloat);
    evaluate(own, every_metric(), options_with(&ranks));
  };
  const std::vector<std::string> errors = errors_of_ranks(3, evaluate_broken);
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("labels of queries"));
  }
}

TEST(EvaluateRanks, AnErrorOfAllIsThatOfOneRank) {
  Scored scored = tied_items(3);  // fewer items than dimensions
  for (const std::string& error : errors_of_ranks(3, [&](Communicator& ranks) {
         evaluate(scored, parse_metrics({"map", "rho"}), options_with(&ranks));
       })) {
    EXPECT_THAT(error, HasSubstr("'rho' needs at least as many items"));
  }
}

/// Twenty images of two splits, with marks and lists for every protocol.
MemorySet list_for_every_protocol() {
  std::vector<Item> items = paired_items(40, Split::kTest);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].label = static_cast<int64_t>(i / 4);
    items[i].is_query = i % 4 == 1;
    items[i].is_gallery = i % 4 != 1 || i % 3 == 0;
  }
  MemorySet data(items);
  data.use_query_gallery();
  return data;
}

TEST(EvaluateRanks, EveryProtocolIsThatOfOneRank) {
  const MemorySet data = list_for_every_protocol();
  int64_t protocols = 0;
  for (const std::string& protocol : protocol_registry().names()) {
    EvaluatorOptions options;
    options.protocol = protocol;
    options.split = "test";
    options.embed = {3, {1, 2}};
    options.scoring = options_with(nullptr);
    EvalResult alone;
    try {
      EmbeddingNet net = fixed_net();
      alone = Evaluator(data, options)(net);
    } catch (const DataError&) {
      continue;  // it needs lists of answers; see JunkIsLeftOutAsByOneRank
    }
    ++protocols;
    for (const int64_t size : {2, 5, 16}) {
      for (const int64_t share_above : {0, -1}) {
        const auto found = on_ranks<EvalResult>(size, [&](Communicator& ranks) {
          EvaluatorOptions own = options;
          own.embed.ranks = own.scoring.ranks = &ranks;
          own.share_above_mb = share_above;
          EmbeddingNet net = fixed_net();
          return Evaluator(data, own)(net);
        });
        for (const EvalResult& result : found) {
          expect_same(result, alone, size);
        }
      }
    }
  }
  EXPECT_GE(protocols, 3);
}

}  // namespace
}  // namespace kith
