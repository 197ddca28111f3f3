// Metrics and protocols made in C++, without names in configurations.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/evaluate.h"
#include "kith/eval/metrics.h"
#include "kith/eval/protocols.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

class TypedMetrics : public ::testing::Test {
 protected:
  TypedMetrics() {
    torch::manual_seed(5);
    labels_ = torch::arange(40) % 8;
    embeddings_ =
        torch::randn({8, 16}).index_select(0, labels_) + torch::randn({40, 16});
  }

  /// What the metric of this name gives.
  double by_name(const std::string& name) const {
    Scored scored;
    scored.queries = torch::nn::functional::normalize(embeddings_);
    scored.query_labels = labels_;
    return evaluate(scored, parse_metrics({name})).at(name);
  }

  Tensor embeddings_;
  Tensor labels_;
};

TEST_F(TypedMetrics, AreThoseOfTheirNames) {
  const std::vector<std::pair<std::string, NamedMetric>> cases = {
      {"recall_any@3", named("", RecallAnyMetric({.k = 3}))},
      {"recall_fraction@3", named("", RecallFractionMetric({.k = 3}))},
      {"precision@1", named("", PrecisionMetric())},
      {"ndcg@10", named("", NdcgMetric({.k = 10}))},
      {"mp@5", named("", MeanPrecisionMetric({.k = 5}))},
      {"mrr", named("", MrrMetric())},
      {"r_precision", named("", RPrecisionMetric())},
      {"map_at_r", named("", MapAtRMetric())},
      {"map", named("", MapMetric())},
      {"map@4", named("", MapMetric({.k = 4}))},
      {"nmi", named("", NmiMetric())},
      {"intra_over_inter", named("", IntraOverInterMetric())},
      {"rho", named("", RhoMetric())},
      {"rho@3", named("", RhoMetric({.dropped = 2}))},
      {"tar@0.01", named("", TarMetric({.far = 0.01}))},
  };
  for (const auto& [name, metric] : cases) {
    const double expected = by_name(name);
    EXPECT_DOUBLE_EQ((*metric.metric)(embeddings_, labels_), expected) << name;
    EXPECT_EQ(metric.summary, parse_metrics({name})[0].summary);
  }
}

TEST_F(TypedMetrics, SeveralAreEvaluatedTogether) {
  Scored scored;
  scored.queries = torch::nn::functional::normalize(embeddings_);
  scored.query_labels = labels_;
  const EvalResult result = evaluate(
      scored,
      {named("first", RecallAnyMetric({.k = 1})), named("ap", MapAtRMetric())});
  EXPECT_EQ(result.at("first"), by_name("recall_any@1"));
  EXPECT_EQ(result.at("ap"), by_name("map_at_r"));
}

TEST_F(TypedMetrics, RefuseWhatTheirNamesRefuse) {
  expect_error<ConfigError>([] { RecallAnyMetric({.k = 0}); }, "at least 1");
  expect_error<ConfigError>([] { MapMetric({.k = -1}); }, "at least 1");
  expect_error<ConfigError>([] { RhoMetric({.dropped = -1}); }, "at least 1");
  expect_error<ConfigError>([] { TarMetric({.far = 2}); }, "[0, 1]");
  expect_error<ConfigError>([&] { SpectrumMetric()(embeddings_, labels_); },
                            "a list");
}

TEST_F(TypedMetrics, SayWhatIsWrongWithTheInput) {
  const RecallAnyMetric metric({.k = 1});
  const auto refused = [&](const Tensor& x, const Tensor& labels,
                           const auto&... parts) {
    expect_error<c10::ValueError>([&] { metric(x, labels); }, parts...);
  };
  refused(embeddings_[0], labels_, "embeddings must be", "[N, D]");
  refused({}, labels_, "embeddings must be");
  refused(embeddings_.to(torch::kInt), labels_, "floating point", "Int");
  refused(embeddings_, labels_.slice(0, 1), "labels", "int64 [40]", "[39]");
  refused(embeddings_, labels_.to(torch::kInt), "labels", "int64 [40]");
  refused(embeddings_, {}, "a label is needed");
  Scored scored;
  scored.queries = embeddings_;
  scored.query_labels = labels_;
  scored.self = torch::arange(1, 41);
  expect_error<c10::ValueError>(
      [&] { evaluate(scored, parse_metrics({"recall_any@1"})); },
      "places of queries", "0 to 39", "got 40 for query 39");
}

TEST_F(TypedMetrics, LabelsMayLieApartInMemory) {
  const Tensor apart = torch::stack({labels_, labels_ * 0}, 1).select(1, 0);
  ASSERT_FALSE(apart.is_contiguous());
  EXPECT_EQ(RecallAnyMetric({.k = 1})(embeddings_, apart),
            by_name("recall_any@1"));
  Scored scored;
  scored.queries = torch::nn::functional::normalize(embeddings_);
  scored.query_labels = apart;
  EXPECT_EQ(evaluate(scored, parse_metrics({"map_at_r"})).at("map_at_r"),
            by_name("map_at_r"));
}

TEST(TypedProtocols, AreThoseOfTheirNames) {
  ImageList list;
  for (int64_t i = 0; i < 4; ++i) {
    Item item;
    item.path = std::to_string(i);
    item.label = i / 2;
    item.split = Split::kTest;
    list.items.push_back(item);
  }
  const std::vector<EvalTask> tasks =
      StandardProtocol().tasks(list, Split::kTest);
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].queries, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(tasks[0].gallery, tasks[0].queries);
  EXPECT_EQ(InshopProtocol().metrics(),
            std::vector<std::string>{"recall_any@1,10,20,30,40,50"});
}

}  // namespace
}  // namespace kith
