// Metrics against the values of reference implementations (tests/golden).

#include "tests/support/torch/golden.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/eval/evaluate.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Json = nlohmann::json;
/// Of a metric here: its name there.
using NamesThere = std::map<std::string, std::string>;

const std::vector<std::string> kItems = {"metrics_single",
                                         "metrics_query_gallery"};

const NamesThere kPlain = {{"map", "mean_average_precision"},
                           {"map_at_r", "mean_average_precision_at_r"},
                           {"mrr", "mean_reciprocal_rank"},
                           {"precision@1", "precision_at_1"},
                           {"r_precision", "r_precision"}};
const NamesThere kAtK = {{"precision", "precision_at_k"},
                         {"recall_any", "recall_any_excluding_lone"},
                         {"recall_fraction", "recall_fraction"},
                         {"recall_fraction_min", "recall_fraction_min_k"}};

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

/// "recall_any@1,2,4" for the numbers stored as `k`.
std::string at_each(const std::string& name, const Json& numbers) {
  std::string list;
  for (const Json& k : numbers) list += (list.empty() ? "@" : ",") + k.dump();
  return name + list;
}

EvalResult evaluate_case(const Scored& scored,
                         const std::vector<std::string>& names, bool misses,
                         const Tensor& clusters = {}) {
  EvaluateOptions options;
  options.misses = misses;
  options.clusters = clusters;
  return evaluate(scored, parse_metrics(names), options);
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

void expect_all(const EvalResult& result, const NamesThere& names,
                const Json& expected, double tolerance) {
  for (const auto& [own, theirs] : names) {
    EXPECT_NEAR(result.at(own), expected.at(theirs).get<double>(), tolerance)
        << own;
  }
}

class GoldenMetrics : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenMetrics, Agree) {
  const Json meta = GetParam().meta();
  const Json& expected = meta.at("expected_numpy");
  const double tolerance = meta.at("tolerance").at("default_abs");
  const Scored scored = scored_of(GetParam());
  std::vector<std::string> names;
  for (const auto& [own, theirs] : kPlain) names.push_back(own);
  for (const auto& [own, theirs] : kAtK) {
    names.push_back(at_each(own, meta.at("k")));
  }

  const EvalResult left_out = evaluate_case(scored, names, false);
  expect_all(left_out, kPlain, expected, tolerance);
  expect_all(left_out, kPlain, meta.at("expected_pml"), tolerance);
  for (const auto& [own, theirs] : kAtK) {
    expect_at_each_k(left_out, own, expected.at(theirs), tolerance);
  }

  const EvalResult missed = evaluate_case(scored, names, true);
  expect_at_each_k(missed, "recall_any", expected.at("recall_any"), tolerance);
  const int64_t lone = missed.parts.at(0).without_positives;
  EXPECT_EQ(lone, left_out.parts.at(0).without_positives);
  if (meta.contains("n_lone_queries")) {
    EXPECT_EQ(lone, meta.at("n_lone_queries").get<int64_t>());
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

class GoldenRecall : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenRecall, OfQueriesInAGalleryAgrees) {
  const Json meta = GetParam().meta();
  const EvalResult result =
      evaluate_case(scored_of(GetParam()),
                    {at_each("recall_any", meta.at("k"))}, /*misses=*/true);
  for (const Json& k : meta.at("k")) {
    EXPECT_NEAR(result.at("recall_any@" + k.dump()),
                meta.at("expected_recall").at("recall@" + k.dump()), 1e-12)
        << k;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GoldenRecall,
    ::testing::ValuesIn(golden_cases("metrics_query_gallery")),
    [](const auto& param_info) { return param_info.param.test_name(); });

/// What the study's code computes, on items searched among themselves.
class GoldenStudy : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenStudy, RankMetricsAgree) {
  const Json meta = GetParam().meta();
  const double tolerance = meta.at("tolerance").at("default_abs");
  const EvalResult result =
      evaluate_case(scored_of(GetParam()),
                    {at_each("recall_any", meta.at("k")), "map_c", "map_1000"},
                    /*misses=*/true);
  const Json& expected = meta.at("expected_revisiting");
  for (const Json& k : meta.at("k")) {
    EXPECT_NEAR(result.at("recall_any@" + k.dump()),
                expected.at("e_recall@" + k.dump()), tolerance)
        << k;
  }
  expect_all(result, {{"map_c", "mAP_c"}}, expected, tolerance);
  // Without the slip that pads short rankings with the last item.
  expect_all(result, {{"map_c", "mAP_c"}, {"map_1000", "mAP_1000"}},
             meta.at("clean_revisiting_map"), tolerance);
}

TEST_P(GoldenStudy, ClusteringsAgree) {
  const Json meta = GetParam().meta();
  const double tolerance = meta.at("tolerance").at("default_abs");
  const EvalResult result =
      evaluate_case(scored_of(GetParam()), {"nmi", "ami", "f1"}, false,
                    GetParam().array("cluster_assignment"));
  expect_all(
      result,
      {{"nmi", "nmi_arithmetic"}, {"ami", "ami_arithmetic"}, {"f1", "f1"}},
      meta.at("expected_clustering"), tolerance);
  expect_all(result, {{"nmi", "nmi"}, {"f1", "f1"}},
             meta.at("expected_revisiting"), tolerance);
  expect_all(result, {{"nmi", "NMI"}, {"ami", "AMI"}}, meta.at("expected_pml"),
             tolerance);
}

TEST_P(GoldenStudy, SpectraAgree) {
  const Json meta = GetParam().meta();
  const double tolerance = meta.at("tolerance").at("rho_abs");
  const EvalResult result = evaluate_case(
      scored_of(GetParam()), {"rho", "rho_1", "rho_2", "spectrum"}, false);
  expect_all(result,
             {{"rho", "rho_spectrum@1"},
              {"rho_1", "rho_spectrum@1"},
              {"rho_2", "rho_spectrum@2"}},
             meta.at("expected_rho_spectrum_torch_path"), tolerance);
  const Tensor spectrum =
      torch::tensor(result.metrics.at(3).list, torch::kDouble);
  EXPECT_LE(max_difference(spectrum, GetParam().array("rho_s_norm")),
            tolerance);
}

TEST_P(GoldenStudy, DistancesAgree) {
  const Json meta = GetParam().meta();
  const Json& expected = meta.at("expected_revisiting");
  if (!expected.contains("dists@intra")) return;  // Singletons: a slip there.
  const double tolerance = meta.at("tolerance").at("dists_abs");
  const EvalResult result = evaluate_case(
      scored_of(GetParam()), {"intra", "inter", "intra_over_inter"}, false);
  expect_all(result,
             {{"intra", "dists@intra"},
              {"inter", "dists@inter"},
              {"intra_over_inter", "dists@intra_over_inter"}},
             expected, tolerance);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenStudy,
                         ::testing::ValuesIn(golden_cases("metrics_single")),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

}  // namespace
}  // namespace kith
