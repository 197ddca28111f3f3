// The miners against what the published Python codes choose, or choose from
// (tests/golden), in both precisions and on a GPU if there is one.

#include "tests/support/torch/golden.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/miners/batch_easy_hard.h"
#include "kith/miners/batch_hard.h"
#include "kith/miners/distance_weighted.h"
#include "kith/miners/multi_similarity.h"
#include "kith/miners/semihard.h"
#include "kith/miners/softhard.h"
#include "kith/miners/triplet_margin.h"
#include "tests/miners/miners.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

class GoldenMiner : public ::testing::TestWithParam<GoldenCase> {
 protected:
  Tensor array(const std::string& name) const { return GetParam().array(name); }
  Tensor unit(at::ScalarType type) const { return array("e").to(type); }
  Tensor labels() const { return array("labels"); }

  template <class Action>
  void for_each_setting(const Action& action) const {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      SCOPED_TRACE(c10::toString(type));
      action(unit(type), labels());
      if (torch::cuda::is_available()) {
        SCOPED_TRACE("on the GPU");
        action(unit(type).cuda(), labels().cuda());
      }
    }
  }

  /// The tuples of many calls with seeds of their own, in the two precisions by
  /// turns: the candidates are the same in both.
  std::vector<Row> draw(const Miner& miner, uint64_t calls) const {
    const Tensor inputs[] = {unit(at::kFloat), unit(at::kDouble)};
    const Tensor y = labels();
    std::vector<Row> all;
    for (uint64_t seed = 0; seed < calls; ++seed) {
      for (Row& row : rows_of(miner(inputs[seed % 2], y, seed))) {
        all.push_back(std::move(row));
      }
    }
    return all;
  }
};

std::string name_of(const ::testing::TestParamInfo<GoldenCase>& info) {
  return info.param.test_name();
}

using Members = std::set<int64_t>;

/// The lists of a table of offsets.
std::vector<Members> lists_of(const Tensor& offsets, const Tensor& values) {
  std::vector<Members> lists;
  const int64_t* begin = offsets.data_ptr<int64_t>();
  const int64_t* value = values.data_ptr<int64_t>();
  for (int64_t i = 0; i + 1 < offsets.size(0); ++i) {
    lists.emplace_back(value + begin[i], value + begin[i + 1]);
  }
  return lists;
}

/// How often each member of a set was drawn.
using Counts = std::map<int64_t, int64_t>;

/// Every member was drawn, nothing else was, and each count is within six
/// standard deviations of its share.
void expect_uniform(const Counts& counts, const Members& members) {
  int64_t total = 0;
  for (const auto& [member, count] : counts) total += count;
  Members drawn;
  const double share = 1.0 / static_cast<double>(members.size());
  const double mean = static_cast<double>(total) * share;
  for (const auto& [member, count] : counts) {
    drawn.insert(member);
    EXPECT_NEAR(static_cast<double>(count), mean,
                6 * std::sqrt(mean * (1 - share)) + 1e-9);
  }
  EXPECT_EQ(drawn, members);
}

// --- distance_weighted

class GoldenDistanceWeights : public GoldenMiner {};

TEST_P(GoldenDistanceWeights, ProbabilitiesAreThose) {
  const auto meta = GetParam().meta();
  for_each_setting([&](const Tensor& x, const Tensor& y) {
    const double tolerance = x.scalar_type() == at::kDouble
                                 ? meta.at("tol64").at("prob_abs")
                                 : meta.at("tol32").at("prob_abs");
    const Tensor log_weights = negative_log_weights(x, y, {});
    EXPECT_LE(max_difference(log_weights.softmax(1), array("prob")), tolerance);
  });
}

/// Pearson's statistic of counts in one row; expected counts below 5 are
/// pooled. Adds the degrees of freedom.
double chi_square(const Counts& counts, const Tensor& probabilities,
                  int64_t draws, int64_t& freedom) {
  const Tensor row = probabilities.to(torch::kDouble).contiguous();
  const double* p = row.data_ptr<double>();
  double statistic = 0;
  double pooled_expected = 0;
  double pooled_count = 0;
  int64_t cells = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (int64_t j = 0; j < row.size(0); ++j) {
    const double expected = p[j] * static_cast<double>(draws);
    const auto found = counts.find(j);
    const auto count =
        static_cast<double>(found == counts.end() ? 0 : found->second);
    if (expected == 0) {
      EXPECT_EQ(count, 0) << "drew " << j << ", which has no weight";
    } else if (expected < 5) {
      pooled_expected += expected;
      pooled_count += count;
    } else {
      add(count, expected);
    }
  }
  if (pooled_expected >= 5) add(pooled_count, pooled_expected);
  freedom += std::max<int64_t>(cells - 1, 0);
  return statistic;
}

// 2000 draws, each with a key of its own: the sum over anchors of the
// statistic, with f degrees of freedom, is below the 1 - 1e-4 quantile, which
// Wilson and Hilferty approximate as f (1 - 2/(9f) + 3.719 sqrt(2/(9f)))^3.
TEST_P(GoldenDistanceWeights, DrawsFollowThem) {
  constexpr int64_t kDraws = 2000;
  const DistanceWeightedMiner miner;
  const Tensor x = unit(at::kFloat);
  const Tensor y = labels();
  std::map<int64_t, Counts> counts;  // by anchor
  for (int64_t draw = 0; draw < kDraws; ++draw) {
    Rng rng(11, Stream::kMiner, {draw});
    const Tensor tuples = miner(x, y, rng);
    const auto t = tuples.accessor<int64_t, 2>();
    for (int64_t i = 0; i < tuples.size(0); ++i) ++counts[t[i][0]][t[i][2]];
  }
  const Tensor probabilities = array("prob");
  double statistic = 0;
  int64_t freedom = 0;
  for (const auto& [anchor, of_anchor] : counts) {
    statistic += chi_square(of_anchor, probabilities[anchor], kDraws, freedom);
  }
  const auto f = static_cast<double>(freedom);
  const double critical =
      f * std::pow(1 - 2 / (9 * f) + 3.719 * std::sqrt(2 / (9 * f)), 3);
  ASSERT_GT(freedom, 0);
  EXPECT_LT(statistic, critical) << freedom << " degrees of freedom";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GoldenDistanceWeights,
    ::testing::ValuesIn(golden_cases("miner_distance_weighted")), name_of);

// --- semihard

class GoldenSemihard : public GoldenMiner {};

TEST_P(GoldenSemihard, DrawsCoverTheCandidatesAndNothingElse) {
  constexpr uint64_t kDraws = 3000;
  std::map<Row, Members> candidates;  // by anchor and positive
  const std::vector<Members> lists =
      lists_of(array("cand_offsets"), array("cand_idx"));
  const std::vector<Row> pairs = rows_of(array("pairs"));
  for (size_t i = 0; i < pairs.size(); ++i) candidates[pairs[i]] = lists[i];

  const SemihardMiner miner(
      {.margin = GetParam().meta().at("hyper").at("margin")});
  std::map<Row, Counts> negatives;
  std::map<int64_t, Counts> positives;
  for (const Row& t : draw(miner, kDraws)) {
    ++positives[t[0]][t[1]];
    ++negatives[{t[0], t[1]}][t[2]];
  }
  std::map<int64_t, Members> partners;
  for (const auto& [pair, members] : candidates) {
    SCOPED_TRACE(::testing::PrintToString(pair));
    partners[pair[0]].insert(pair[1]);
    expect_uniform(negatives[pair], members);
  }
  for (const auto& [anchor, members] : partners) {
    expect_uniform(positives[anchor], members);
  }
  EXPECT_EQ(negatives.size(), candidates.size());
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenSemihard,
                         ::testing::ValuesIn(golden_cases("miner_semihard")),
                         name_of);

// --- softhard

class GoldenSofthard : public GoldenMiner {};

TEST_P(GoldenSofthard, DrawsCoverTheCandidatesAndNothingElse) {
  constexpr uint64_t kDraws = 1500;
  const std::vector<Members> positive =
      lists_of(array("pos_offsets"), array("pos_idx"));
  const std::vector<Members> negative =
      lists_of(array("neg_offsets"), array("neg_idx"));
  const SofthardMiner miner;
  std::map<int64_t, Counts> positives;
  std::map<int64_t, Counts> negatives;
  for (const Row& t : draw(miner, kDraws)) {
    ++positives[t[0]][t[1]];
    ++negatives[t[0]][t[2]];
  }
  for (size_t i = 0; i < positive.size(); ++i) {
    SCOPED_TRACE(i);
    expect_uniform(positives[static_cast<int64_t>(i)], positive[i]);
    expect_uniform(negatives[static_cast<int64_t>(i)], negative[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenSofthard,
                         ::testing::ValuesIn(golden_cases("miner_softhard")),
                         name_of);

// --- the miners of pytorch-metric-learning

class GoldenPml : public GoldenMiner {
 protected:
  void expect_triplets(const std::string& name, const Miner& miner) const {
    SCOPED_TRACE(name);
    for_each_setting([&](const Tensor& x, const Tensor& y) {
      EXPECT_EQ(sorted_rows(miner(x, y)),
                sorted_rows(array(name + "__triplets")));
    });
  }

  void expect_pairs(const std::string& name, const Miner& miner) const {
    SCOPED_TRACE(name);
    const Tensor expected =
        torch::cat({array(name + "__pos_pairs"), array(name + "__neg_pairs")});
    for_each_setting([&](const Tensor& x, const Tensor& y) {
      EXPECT_EQ(sorted_rows(miner(x, y)), sorted_rows(expected));
    });
  }
};

TEST_P(GoldenPml, MultiSimilarity) {
  expect_pairs("multisimilarity_eps0p1",
               MultiSimilarityMiner({.epsilon = 0.1}));
}

TEST_P(GoldenPml, BatchHard) {
  expect_triplets("batch_hard", BatchHardMiner());
}

TEST_P(GoldenPml, BatchEasyHard) {
  for (const auto& [positive, negative] :
       std::vector<std::pair<std::string, std::string>>{{"easy", "semihard"},
                                                        {"hard", "semihard"},
                                                        {"easy", "easy"},
                                                        {"semihard", "hard"},
                                                        {"easy", "hard"},
                                                        {"hard", "all"},
                                                        {"all", "hard"}}) {
    expect_pairs(
        "batch_easy_hard__" + positive + "_" + negative,
        BatchEasyHardMiner({.positive = positive, .negative = negative}));
  }
}

TEST_P(GoldenPml, TripletMargin) {
  expect_triplets("triplet_margin_semihard_m0p2",
                  TripletMarginMiner({.kind = "semihard", .margin = 0.2}));
  expect_triplets("triplet_margin_hard_m0p2",
                  TripletMarginMiner({.kind = "hard", .margin = 0.2}));
  expect_triplets("triplet_margin_all_m0p1",
                  TripletMarginMiner({.kind = "all", .margin = 0.1}));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenPml,
                         ::testing::ValuesIn(golden_cases("miner_pml")),
                         name_of);

}  // namespace
}  // namespace kith
