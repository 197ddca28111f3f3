#include "kith/miners/distance_weighted.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/miners/rho_distance.h"
#include "kith/ops/pairwise.h"
#include "tests/miners/miners.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Unit vectors of the plane embedded in d dimensions: the first is the anchor,
// the others are at these distances from it.
Tensor at_distances(const std::vector<double>& distances, int64_t d) {
  std::vector<Tensor> rows = {torch::zeros({d}, at::kDouble)};
  rows[0][0] = 1;
  for (const double distance : distances) {
    const double angle = 2 * std::asin(distance / 2);
    Tensor row = torch::zeros({d}, at::kDouble);
    row[0] = std::cos(angle);
    row[1] = std::sin(angle);
    rows.push_back(row);
  }
  return torch::stack(rows);
}

double log_density(double distance, double d) {
  return (d - 2) * std::log(distance) +
         (d - 3) / 2 * std::log(1 - distance * distance / 4);
}

TEST(DistanceWeights, AreTheInverseDensityClampedAtTheCutoff) {
  const Tensor x = at_distances({0.1, 0.3, 0.7, 1.2, 1.9}, 6);
  const Tensor labels = labels_of({1, 1, 2, 2, 3, 3});
  const Tensor w = negative_log_weights(x, labels, {});
  EXPECT_EQ(w[0][0].item<double>(), -kInfinity);
  EXPECT_EQ(w[0][1].item<double>(), -kInfinity);
  EXPECT_NEAR(w[0][2].item<double>(), -log_density(0.5, 6), 1e-9);
  EXPECT_NEAR(w[0][3].item<double>(), -log_density(0.7, 6), 1e-9);
  EXPECT_NEAR(w[0][4].item<double>(), -log_density(1.2, 6), 1e-9);
  EXPECT_NEAR(w[0][5].item<double>(), -log_density(1.9, 6), 1e-9);
}

TEST(DistanceWeights, NothingBeyondTheUpperCutoffHasAny) {
  const Tensor x = at_distances({0.3, 1.3, 1.5}, 6);
  const Tensor labels = labels_of({1, 1, 2, 2});
  const Tensor w = negative_log_weights(x, labels, {.upper_cutoff = 1.4});
  EXPECT_NEAR(w[0][2].item<double>(), -log_density(1.3, 6), 1e-9);
  EXPECT_EQ(w[0][3].item<double>(), -kInfinity);
}

// At D = 2 the density is 0, at D = 0 it is 0 without a cutoff.
TEST(DistanceWeights, AreFiniteAtTheEnds) {
  for (const int64_t d : {2, 3, 128, 2048}) {
    const Tensor x = at_distances({0, 2, 1}, d);
    const Tensor labels = labels_of({1, 2, 3, 4});
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      const Tensor w = negative_log_weights(x.to(type), labels, {.cutoff = 0});
      EXPECT_FALSE(w.isnan().any().item<bool>()) << d;
      EXPECT_LT(w.max().item<double>(), kInfinity) << d;
    }
  }
}

TEST(DistanceWeighted, AnchorsWithoutWeightsDrawAnyNegative) {
  const Tensor x = at_distances({0.1, 1.6, 1.7, 1.8}, 4);
  const Tensor labels = labels_of({1, 1, 2, 3, 4});
  const DistanceWeightedMiner miner({.upper_cutoff = 1});
  std::set<int64_t> drawn;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (const Row& row : rows_of(miner(x, labels, seed))) {
      drawn.insert(row[2]);
    }
  }
  EXPECT_EQ(drawn, (std::set<int64_t>{2, 3, 4}));
}

// 4000 triplets: the share of switched ones within six standard deviations.
TEST(RhoDistance, SwitchesAsOftenAsItIsTold) {
  const LabelledBatch batch = make_batch({10, 10, 10, 10}, 8, 2);
  for (const double p : {0.0, 0.15, 0.35, 1.0}) {
    const RhoDistanceMiner miner({.p_switch = p});
    int64_t switched = 0;
    constexpr uint64_t kCalls = 100;
    for (uint64_t seed = 0; seed < kCalls; ++seed) {
      for (const Row& row : rows_of(miner(batch.x, batch.labels, seed))) {
        if (row[0] == row[1]) ++switched;
      }
    }
    const double all = static_cast<double>(kCalls) * 40;
    EXPECT_NEAR(static_cast<double>(switched), p * all,
                6 * std::sqrt(all * p * (1 - p)));
  }
}

}  // namespace
}  // namespace kith
