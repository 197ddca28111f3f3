#include "kith/eval/kmeans.h"

#include <set>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/eval/clusters.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Unit rows near `count` axes of R^dim; row i is near axis i % count.
Tensor blobs(int64_t n, int64_t count, int64_t dim, double noise) {
  const Tensor axis = torch::arange(n, torch::kLong).remainder(count);
  return normalize_rows(torch::eye(dim).index_select(0, axis) +
                        noise * random_normal({n, dim}, 1, torch::kFloat));
}

std::vector<int64_t> run(const Tensor& rows, int64_t clusters, uint64_t seed,
                         int64_t memory_mb = 512) {
  KMeansOptions options;
  options.clusters = clusters;
  options.seed = seed;
  options.memory_mb = memory_mb;
  return kmeans(rows, options);
}

std::vector<int64_t> axes(int64_t n, int64_t count) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < n; ++i) axes.push_back(i % count);
  return axes;
}

TEST(KMeans, FindsTwoBlobs) {
  const Tensor rows = blobs(60, 2, 5, 0.05);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Contingency table = contingency(axes(60, 2), run(rows, 2, seed));
    EXPECT_EQ(normalized_mutual_information(table), 1) << seed;
  }
}

TEST(KMeans, FindsManyBlobsUpToPoorFirstCentres) {
  const Tensor rows = blobs(400, 20, 30, 0.05);
  const Contingency table = contingency(axes(400, 20), run(rows, 20, 3));
  EXPECT_GT(normalized_mutual_information(table), 0.8);
}

TEST(KMeans, IsReproducibleAndTheSeedMatters) {
  const Tensor rows = normalize_rows(random_normal({500, 8}, 2, torch::kFloat));
  EXPECT_EQ(run(rows, 25, 7), run(rows, 25, 7));
  EXPECT_NE(run(rows, 25, 7), run(rows, 25, 8));
}

TEST(KMeans, MemoryDoesNotChangeTheResult) {
  const Tensor rows =
      normalize_rows(random_normal({900, 24}, 3, torch::kFloat));
  // 900 rows of 300 scores and more are three blocks of 1 MB.
  EXPECT_EQ(run(rows, 300, 5, 1), run(rows, 300, 5, 512));
}

TEST(KMeans, EqualRowsShareACluster) {
  // Every row thrice: ties are many, and first centres are equal.
  const Tensor distinct = random_integers({40, 3}, 2, 9);
  const Tensor rows = normalize_rows(distinct.repeat({3, 1}));
  const std::vector<int64_t> found = run(rows, 60, 1);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(found[i], found[i + 40]) << i;
    EXPECT_EQ(found[i], found[i + 80]) << i;
  }
}

TEST(KMeans, EveryClusterHasRowsIfRowsDiffer) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Tensor rows =
        normalize_rows(random_normal({60, 2}, seed, torch::kFloat));
    const std::vector<int64_t> found = run(rows, 30, seed);
    EXPECT_EQ(std::set<int64_t>(found.begin(), found.end()).size(), 30u);
  }
  const std::vector<int64_t> own = run(torch::eye(7), 7, 0);
  EXPECT_EQ(std::set<int64_t>(own.begin(), own.end()).size(), 7u);
}

TEST(KMeans, OneClusterAndEqualRows) {
  EXPECT_EQ(run(torch::eye(4), 1, 0), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(run(torch::ones({4, 1}), 3, 0), (std::vector<int64_t>{0, 0, 0, 0}));
}

/// No row is nearer to another cluster's mean: what ends the iterations.
TEST(KMeans, EndsWhereNoRowWantsToMove) {
  const Tensor rows = normalize_rows(random_normal({80, 3}, 4, torch::kFloat));
  const Tensor found = labels_of(run(rows, 4, 2));
  std::vector<Tensor> means;
  for (int64_t c = 0; c < 4; ++c) {
    means.push_back(rows.index({found == c}).mean(0));
  }
  const Tensor nearest = torch::cdist(rows, torch::stack(means)).argmin(1);
  EXPECT_TRUE(torch::equal(nearest, found));
}

}  // namespace
}  // namespace kith
