// Metrics against the values of reference implementations (tests/golden).

#include "tests/support/torch/golden.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/eval/evaluate.h"

namespace kith {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kItems = {"metrics_single",
                                         "metrics_query_gallery"};

Scored scored_of(const GoldenCase& golden) {
  Scored scored;
  if (golden.item == "metrics_single") {
    scored.queries = golden.array("e");
    scored.query_labels = golden.array("labels");
  } else {
    scored.queries = golden.array("query");
    scored.query_labels = golden.array("query_labels");
    scored.gallery = golden.array("gallery");
    scored.gallery_labels = golden.array("gallery_labels");
  }
  return scored;
}

/// The values of `name`@k for every k stored under `key`.
void expect_at_each_k(const EvalResult& result, const std::string& name,
                      const Json& expected, double tolerance) {
  ASSERT_FALSE(expected.empty());
  for (const auto& [k, value] : expected.items()) {
    EXPECT_NEAR(result.at(name + "@" + k), value.get<double>(), tolerance)
        << name << "@" << k;
  }
}

class GoldenMetrics : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenMetrics, Agree) {
  const Json meta = GetParam().meta();
  const Json& expected = meta.at("expected_numpy");
  const double tolerance = meta.at("tolerance").at("default_abs");
  const Scored scored = scored_of(GetParam());
  std::string list;
  for (const Json& k : meta.at("k")) {
    if (!list.empty()) list += ",";
    list += k.dump();
  }
  const std::vector<NamedMetric> metrics =
      parse_metrics({"recall_any@" + list, "precision@" + list, "map_at_r"});

  const EvalResult left_out = evaluate(scored, metrics);
  expect_at_each_k(left_out, "recall_any",
                   expected.at("recall_any_excluding_lone"), tolerance);
  expect_at_each_k(left_out, "precision", expected.at("precision_at_k"),
                   tolerance);
  EXPECT_NEAR(left_out.at("map_at_r"),
              expected.at("mean_average_precision_at_r").get<double>(),
              tolerance);
  EXPECT_NEAR(left_out.at("precision@1"),
              meta.at("expected_pml").at("precision_at_1").get<double>(),
              tolerance);

  const EvalResult missed = evaluate(scored, metrics, /*misses=*/true);
  expect_at_each_k(missed, "recall_any", expected.at("recall_any"), tolerance);
  EXPECT_EQ(missed.without_positives, left_out.without_positives);
  if (meta.contains("n_lone_queries")) {
    EXPECT_EQ(missed.without_positives,
              meta.at("n_lone_queries").get<int64_t>());
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenMetrics,
                         ::testing::ValuesIn(golden_cases(kItems)),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

TEST(GoldenMetricItems, HaveCases) {
  for (const std::string& item : kItems) {
    EXPECT_GE(golden_cases(item).size(), 2u) << item;
  }
}

}  // namespace
}  // namespace kith
