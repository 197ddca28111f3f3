// The evaluation of ROxford and RParis against the published code's values.

#include "kith/eval/revisited.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/data/ground_truth.h"
#include "kith/eval/evaluate.h"
#include "kith/io/mat.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/golden.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::json;

const std::vector<std::string> kMetrics = {"map_trapezoid", "mp@1,5,10"};

double value_of(const std::string& metric, const std::vector<int64_t>& ranks) {
  const std::vector<NamedMetric> metrics = parse_metrics({metric});
  return dynamic_cast<const RankMetric&>(*metrics[0].metric)
      .value({ranks, 1000, 0});
}

TEST(MapTrapezoid, IsTheMeanOfPrecisionsBeforeAndAtEachPositive) {
  EXPECT_DOUBLE_EQ(value_of("map_trapezoid", {1, 2, 3}), 1);
  EXPECT_DOUBLE_EQ(value_of("map_trapezoid", {2}), (0 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(value_of("map_trapezoid", {1, 4}),
                   (1 + (1. / 3 + 2. / 4) / 2) / 2);
  expect_error<ConfigError>([] { parse_metrics({"map_trapezoid@5"}); },
                            "takes no k");
}

TEST(MeanPrecision, LooksNoFurtherThanTheLastPositive) {
  EXPECT_DOUBLE_EQ(value_of("mp@1", {1, 2}), 1);
  EXPECT_DOUBLE_EQ(value_of("mp@10", {1, 2}), 1);
  EXPECT_DOUBLE_EQ(value_of("mp@5", {1, 4}), 0.5);
  EXPECT_DOUBLE_EQ(value_of("mp@3", {1, 4}), 1. / 3);
  EXPECT_DOUBLE_EQ(value_of("mp@3", {7}), 0);
  expect_error<ConfigError>([] { parse_metrics({"mp"}); }, "needs a k");
}

TEST(RevisitedLists, ArePositivesAndJunkOfTheSetting) {
  const std::vector<QueryTruth> truths = {{7, {1, 5}, {3}, {2, 9}},
                                          {8, {}, {4}, {}}};
  const RelevanceLists easy = revisited_lists(truths, "easy");
  EXPECT_THAT(easy.positives, ElementsAre(ElementsAre(1, 5), IsEmpty()));
  EXPECT_THAT(easy.junk, ElementsAre(ElementsAre(2, 3, 9), ElementsAre(4)));
  const RelevanceLists medium = revisited_lists(truths, "medium");
  EXPECT_THAT(medium.positives,
              ElementsAre(ElementsAre(1, 3, 5), ElementsAre(4)));
  EXPECT_THAT(medium.junk, ElementsAre(ElementsAre(2, 9), IsEmpty()));
  const RelevanceLists hard = revisited_lists(truths, "hard");
  EXPECT_THAT(hard.positives, ElementsAre(ElementsAre(3), ElementsAre(4)));
  EXPECT_THAT(hard.junk, ElementsAre(ElementsAre(1, 2, 5, 9), IsEmpty()));
}

/// The lists `name` of a case, one for each query.
std::vector<std::vector<int64_t>> stored_lists(const GoldenCase& golden,
                                               const std::string& name) {
  const Tensor offsets = golden.array(name + "_offsets");
  const Tensor items = golden.array(name + "_idx");
  const auto* from = offsets.data_ptr<int64_t>();
  const auto* item = items.data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> lists;
  for (int64_t q = 0; q + 1 < offsets.size(0); ++q) {
    lists.emplace_back(item + from[q], item + from[q + 1]);
    std::sort(lists.back().begin(), lists.back().end());
  }
  return lists;
}

std::vector<QueryTruth> stored_truths(const GoldenCase& golden) {
  const auto easy = stored_lists(golden, "easy");
  const auto hard = stored_lists(golden, "hard");
  const auto junk = stored_lists(golden, "junk");
  std::vector<QueryTruth> truths;
  for (size_t q = 0; q < easy.size(); ++q) {
    truths.push_back({static_cast<int64_t>(q), easy[q], hard[q], junk[q]});
  }
  return truths;
}

/// Ranks of the positives in column `query` of the stored rankings.
std::vector<int64_t> stored_ranks(const Tensor& rankings, size_t query,
                                  const RelevanceLists& lists) {
  const auto has = [](const std::vector<int64_t>& list, int64_t item) {
    return std::count(list.begin(), list.end(), item) > 0;
  };
  const auto at = rankings.accessor<int64_t, 2>();
  std::vector<int64_t> ranks;
  int64_t rank = 0;
  for (int64_t i = 0; i < rankings.size(0); ++i) {
    const int64_t item = at[i][static_cast<int64_t>(query)];
    if (has(lists.junk[query], item)) continue;
    ++rank;
    if (has(lists.positives[query], item)) ranks.push_back(rank);
  }
  return ranks;
}

class GoldenRevisited : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenRevisited, AgreesOnStoredRankings) {
  const Json meta = GetParam().meta();
  const Tensor rankings = GetParam().array("ranks");
  for (const char* setting : kRevisitedSettings) {
    SCOPED_TRACE(setting);
    const Json& expected = meta.at("expected").at(setting);
    const RelevanceLists lists =
        revisited_lists(stored_truths(GetParam()), setting);
    for (size_t q = 0; q < lists.positives.size(); ++q) {
      const std::vector<int64_t> ranks = stored_ranks(rankings, q, lists);
      ASSERT_EQ(ranks.empty(), expected.at("aps").at(q).is_null());
      if (ranks.empty()) continue;
      EXPECT_NEAR(value_of("map_trapezoid", ranks),
                  expected.at("aps").at(q).get<double>(), 1e-9);
      for (size_t k = 0; k < meta.at("kappas").size(); ++k) {
        EXPECT_NEAR(value_of("mp@" + meta.at("kappas").at(k).dump(), ranks),
                    expected.at("prs").at(q).at(k).get<double>(), 1e-9);
      }
    }
  }
}

TEST_P(GoldenRevisited, AgreesOnEmbeddings) {
  const Json meta = GetParam().meta();
  Scored scored;
  scored.queries = GetParam().array("Q");
  scored.gallery = GetParam().array("X");
  EvaluateOptions options;
  options.by_query = true;
  for (const char* setting : kRevisitedSettings) {
    SCOPED_TRACE(setting);
    const Json& expected = meta.at("expected").at(setting);
    scored.lists = revisited_lists(stored_truths(GetParam()), setting);
    const EvalResult result =
        evaluate(scored, parse_metrics(kMetrics), options);
    EXPECT_NEAR(result.at("map_trapezoid"), expected.at("map").get<double>(),
                1e-9);
    for (size_t k = 0; k < meta.at("kappas").size(); ++k) {
      EXPECT_NEAR(result.at("mp@" + meta.at("kappas").at(k).dump()),
                  expected.at("mp_at_k").at(k).get<double>(), 1e-9);
    }
    const std::vector<double>& aps = result.metrics.at(0).by_query;
    ASSERT_EQ(aps.size(), expected.at("aps").size());
    int64_t without = 0;
    for (size_t q = 0; q < aps.size(); ++q) {
      const Json& ap = expected.at("aps").at(q);
      without += ap.is_null();
      ASSERT_EQ(std::isnan(aps[q]), ap.is_null());
      if (!ap.is_null()) {
        EXPECT_NEAR(aps[q], ap.get<double>(), 1e-9);
      }
    }
    EXPECT_EQ(result.parts.at(0).without_positives, without);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenRevisited,
                         ::testing::ValuesIn(golden_cases("revisitop")),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

TEST(GoldenRevisitedItem, HasCases) {
  EXPECT_GE(golden_cases("revisitop").size(), 2u);
}

/// The columns of a matrix [d, n] as rows [n, d]: MATLAB's order is that.
Tensor columns(const MatValue& matrix) {
  return torch::tensor(matrix.numbers, torch::kDouble)
      .view({matrix.shape.at(1), matrix.shape.at(0)})
      .to(torch::kFloat);
}

/// Features that the authors of ROxford and RParis give out, and the mAP in
/// percent that they print of them, in the order of the settings.
struct PublishedFeatures {
  std::string set;
  std::vector<double> map;
};

void PrintTo(const PublishedFeatures& published, std::ostream* out) {
  *out << published.set;
}

class RevisitedFeatures : public ::testing::TestWithParam<PublishedFeatures> {};

TEST_P(RevisitedFeatures, GiveThePublishedNumbers) {
  const char* folder = std::getenv("KITH_DATA");
  const std::string root = folder == nullptr ? "" : folder;
  const std::string& set = GetParam().set;
  const std::string features = root + "/" + set + "_resnet_rsfm120k_gem.mat";
  const std::string truth = root + "/gnd_" + set + ".pkl";
  if (root.empty() || !std::filesystem::exists(features) ||
      !std::filesystem::exists(truth)) {
    GTEST_SKIP() << "skipped: set KITH_DATA to a folder with gnd_" << set
                 << ".pkl and " << set << "_resnet_rsfm120k_gem.mat";
  }
  const auto matrices = read_mat(features, {"X", "Q"});
  Scored scored;
  scored.gallery = columns(matrices.at("X"));
  scored.queries = columns(matrices.at("Q"));
  const GroundTruth lists = read_ground_truth(truth);
  for (size_t i = 0; i < GetParam().map.size(); ++i) {
    scored.lists = revisited_lists(lists.truths, kRevisitedSettings[i]);
    const double map =
        evaluate(scored, parse_metrics(kMetrics)).at("map_trapezoid");
    EXPECT_NEAR(std::round(1e4 * map) / 100, GetParam().map[i], 0.0101)
        << kRevisitedSettings[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Published, RevisitedFeatures,
    ::testing::Values(PublishedFeatures{"roxford5k", {84.81, 64.67, 38.47}},
                      PublishedFeatures{"rparis6k", {92.12, 77.20, 56.32}}),
    [](const auto& param_info) { return param_info.param.set; });

}  // namespace
}  // namespace kith
