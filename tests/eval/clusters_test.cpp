#include "kith/eval/clusters.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/rng.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Labels = std::vector<int64_t>;

Labels random_partition(size_t n, uint64_t groups, uint64_t seed) {
  Rng rng(seed, Stream::kCluster);
  Labels labels;
  for (size_t i = 0; i < n; ++i) {
    labels.push_back(static_cast<int64_t>(rng.below(groups)));
  }
  return labels;
}

TEST(Clusters, EqualPartitionsWithOtherNamesAreOne) {
  const Contingency table =
      contingency({3, 3, 7, 7, 7, -1}, {0, 0, 9, 9, 9, 4});
  EXPECT_EQ(table.items, 6);
  EXPECT_EQ(table.cells.size(), 3u);
  EXPECT_EQ(normalized_mutual_information(table), 1);
  EXPECT_EQ(adjusted_mutual_information(table), 1);
  EXPECT_EQ(pair_f1(table), 1);
}

TEST(Clusters, OneClusterSaysNothing) {
  const Contingency table = contingency({0, 0, 1, 1}, {5, 5, 5, 5});
  EXPECT_NEAR(normalized_mutual_information(table), 0, 1e-15);
  EXPECT_EQ(adjusted_mutual_information(table), 0);
  // Two of six pairs are of one class; recall is 1.
  EXPECT_DOUBLE_EQ(pair_f1(table), 2 * (2. / 6) / (2. / 6 + 1));
}

TEST(Clusters, ItemsAlone) {
  const Contingency alone = contingency({0, 1, 2}, {2, 0, 1});
  EXPECT_EQ(adjusted_mutual_information(alone), 1);
  EXPECT_TRUE(std::isnan(pair_f1(alone)));
  // Any clustering says the same of classes of one item: chance.
  const Contingency chance = contingency({0, 1, 2, 3}, {0, 0, 1, 1});
  EXPECT_EQ(adjusted_mutual_information(chance), 0);
  EXPECT_NEAR(normalized_mutual_information(chance),
              2 * std::log(2) / (std::log(4) + std::log(2)), 1e-15);
  EXPECT_EQ(pair_f1(chance), 0);
}

TEST(Clusters, IndependentPartitionsAreNearChance) {
  const Contingency table = contingency(random_partition(2000, 100, 1),
                                        random_partition(2000, 90, 2));
  EXPECT_GT(normalized_mutual_information(table), 0.3);  // Not adjusted.
  EXPECT_NEAR(adjusted_mutual_information(table), 0, 0.02);
}

/// The expectation over all orders of the clusters, by trying all.
TEST(Clusters, AdjustedForTheMeanOverAllPermutations) {
  const Labels classes = {0, 0, 0, 1, 1, 2, 2};
  Labels clusters = {0, 0, 1, 1, 1, 2, 3};
  const auto entropies = [](const Contingency& table) {
    double sum = 0;
    for (const auto* sizes : {&table.classes, &table.clusters}) {
      for (const int64_t size : *sizes) {
        const double p = static_cast<double>(size) / 7;
        sum -= p * std::log(p);
      }
    }
    return sum;
  };
  const auto information = [&](const Contingency& table) {
    return normalized_mutual_information(table) * entropies(table) / 2;
  };
  const Contingency table = contingency(classes, clusters);
  double sum = 0;
  int64_t count = 0;
  do {
    sum += information(contingency(classes, clusters));
    ++count;
  } while (std::next_permutation(clusters.begin(), clusters.end()));
  const double expected = sum / static_cast<double>(count);
  EXPECT_NEAR(
      adjusted_mutual_information(table),
      (information(table) - expected) / (entropies(table) / 2 - expected),
      1e-12);
}

TEST(Clusters, PairF1CountsPairs) {
  const Labels classes = random_partition(80, 6, 3);
  const Labels clusters = random_partition(80, 9, 4);
  double both = 0;
  double same_class = 0;
  double same_cluster = 0;
  for (size_t i = 0; i < 80; ++i) {
    for (size_t j = 0; j < i; ++j) {
      same_class += classes[i] == classes[j];
      same_cluster += clusters[i] == clusters[j];
      both += classes[i] == classes[j] && clusters[i] == clusters[j];
    }
  }
  const double precision = both / same_cluster;
  const double recall = both / same_class;
  EXPECT_NEAR(pair_f1(contingency(classes, clusters)),
              2 * precision * recall / (precision + recall), 1e-15);
}

TEST(Clustering, IsKMeansUnlessGivenAndIsDoneOnce) {
  ScoredSet set;
  set.gallery = torch::eye(3).repeat({4, 1});
  set.gallery_labels = torch::arange(12, torch::kLong).remainder(3);
  const Contingency& first = clustering(set);
  EXPECT_LE(first.clusters.size(), 3u);
  EXPECT_EQ(&clustering(set), &first);

  ScoredSet given;
  given.gallery = set.gallery;
  given.gallery_labels = set.gallery_labels;
  given.clusters = torch::arange(12, torch::kLong);
  EXPECT_EQ(clustering(given).clusters.size(), 12u);
}

TEST(Clustering, RefusesAnotherNumberOfAssignments) {
  ScoredSet set;
  set.gallery = torch::eye(4);
  set.gallery_labels = labels_of({0, 0, 1, 1});
  set.clusters = labels_of({0, 1, 2});
  expect_error<DataError>([&] { clustering(set); }, "3 cluster assignments",
                          "4 items");
}

}  // namespace
}  // namespace kith
