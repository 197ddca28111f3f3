#include "kith/samplers/pool/scores.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/samplers/pool/greedy_coreset.h"

namespace kith {
namespace {

Tensor random_points(int64_t count, int64_t dim, int64_t seed) {
  torch::manual_seed(static_cast<uint64_t>(seed));
  return torch::nn::functional::normalize(torch::randn({count, dim}) + 0.3);
}

double value(const Tensor& x, int64_t i, int64_t j) {
  return x.to(torch::kDouble)[i][j].item<double>();
}

std::vector<double> pair_distances(const Tensor& x) {
  std::vector<double> distances;
  for (int64_t i = 0; i < x.size(0); ++i) {
    for (int64_t j = i + 1; j < x.size(0); ++j) {
      distances.push_back(
          (x[i] - x[j]).to(torch::kDouble).norm().item<double>());
    }
  }
  return distances;
}

std::vector<double> histogram(const std::vector<double>& values, double least,
                              double most, int64_t bins) {
  std::vector<double> shares(static_cast<size_t>(bins), 0);
  for (const double v : values) {
    const auto bin = static_cast<int64_t>((v - least) / (most - least) *
                                          static_cast<double>(bins));
    shares[static_cast<size_t>(std::min(bin, bins - 1))] +=
        1.0 / static_cast<double>(values.size());
  }
  return shares;
}

// Euclidean norms of the differences of means and standard deviations.
double moment_distance(const Tensor& x, const Tensor& y) {
  double means = 0;
  double deviations = 0;
  for (int64_t d = 0; d < x.size(1); ++d) {
    double mean[2] = {0, 0};
    double square[2] = {0, 0};
    for (int64_t k = 0; k < 2; ++k) {
      const Tensor& z = k == 0 ? x : y;
      const auto count = static_cast<double>(z.size(0));
      for (int64_t i = 0; i < z.size(0); ++i) {
        mean[k] += value(z, i, d) / count;
        square[k] += value(z, i, d) * value(z, i, d) / count;
      }
    }
    means += std::pow(mean[0] - mean[1], 2);
    deviations += std::pow(std::sqrt(square[0] - mean[0] * mean[0]) -
                               std::sqrt(square[1] - mean[1] * mean[1]),
                           2);
  }
  return std::sqrt(means) + std::sqrt(deviations);
}

TEST(DistanceScores, AgreeWithTheFormula) {
  const Tensor pool = random_points(40, 6, 1);
  const Tensor batches = torch::stack({torch::randperm(40).slice(0, 0, 12),
                                       torch::randperm(40).slice(0, 0, 12)});
  const std::vector<double> all = pair_distances(pool);
  const double least = *std::min_element(all.begin(), all.end());
  const double most = *std::max_element(all.begin(), all.end());
  for (const int64_t bins : {1, 7, 50}) {
    const Tensor scores = distance_scores(pool, batches, bins, 3.5);
    const std::vector<double> h = histogram(all, least, most, bins);
    for (int64_t c = 0; c < 2; ++c) {
      const Tensor x = pool.index_select(0, batches[c]);
      const std::vector<double> g =
          histogram(pair_distances(x), least, most, bins);
      // What is carried over each edge of a bin, times its width.
      double carried = 0;
      double w1 = 0;
      for (size_t b = 0; b < h.size(); ++b) {
        carried += h[b] - g[b];
        w1 += std::abs(carried) * (most - least) / static_cast<double>(bins);
      }
      EXPECT_NEAR(scores[c].item<double>(), moment_distance(pool, x) + 3.5 * w1,
                  1e-5);
    }
  }
}

TEST(DistanceScores, AreZeroForThePoolItself) {
  const Tensor pool = random_points(20, 4, 2);
  const Tensor scores =
      distance_scores(pool, torch::randperm(20).unsqueeze(0), 50, 75);
  EXPECT_NEAR(scores.item<double>(), 0, 1e-5);
}

TEST(DistanceScores, TakeEqualEmbeddings) {
  const Tensor pool = torch::ones({8, 4});
  const Tensor scores =
      distance_scores(pool, torch::arange(4).unsqueeze(0), 50, 75);
  EXPECT_NEAR(scores.item<double>(), 0, 1e-6);
}

// Of two Gaussians on axes: sum over axes of squares of differences of means
// and of standard deviations.
TEST(FrechetScores, AgreeWithGaussiansOnAxes) {
  const auto cross = [](double x, double y, double at) {
    // Covariance diag(2 x^2, 2 y^2) / 3 about (at, 0).
    return torch::tensor({at + x, 0.0, at - x, 0.0, at, y, at, -y},
                         torch::kFloat)
        .view({4, 2});
  };
  const Tensor pool = torch::cat({cross(0.5, 0.25, 0), cross(1, 2, 0.75)});
  const Tensor scores = frechet_scores(pool, torch::arange(8).view({2, 4}));
  // The pool: mean 0.375, squares of deviations by hand.
  const double mean = 0.375;
  double a_x = 0;
  for (const double x : {0.5, -0.5, 0.0, 0.0, 1.75, -0.25, 0.75, 0.75}) {
    a_x += (x - mean) * (x - mean) / 7;
  }
  const double a_y = 2 * (0.25 * 0.25 + 2 * 2) / 7;
  const double sizes[2][3] = {{0.5, 0.25, 0}, {1, 2, 0.75}};
  for (int64_t c = 0; c < 2; ++c) {
    const double s_x = std::sqrt(2.0 / 3) * sizes[c][0];
    const double s_y = std::sqrt(2.0 / 3) * sizes[c][1];
    EXPECT_NEAR(scores[c].item<double>(),
                std::pow(sizes[c][2] - mean, 2) +
                    std::pow(std::sqrt(a_x) - s_x, 2) +
                    std::pow(std::sqrt(a_y) - s_y, 2),
                1e-7);
  }
}

// A square root of A B by Newton's iteration, which needs no eigenvalues.
Tensor square_root(const Tensor& matrix) {
  Tensor y = matrix / matrix.norm();
  Tensor z = torch::eye(matrix.size(0), torch::kDouble);
  const Tensor three = 3 * z;
  for (int i = 0; i < 60; ++i) {
    const Tensor t = 0.5 * (three - z.mm(y));
    y = y.mm(t);
    z = t.mm(z);
  }
  return y * matrix.norm().sqrt();
}

TEST(FrechetScores, AgreeWithTheRootOfTheProduct) {
  const int64_t dim = 5;
  const Tensor pool = random_points(60, dim, 3);
  const Tensor batches =
      torch::stack({torch::arange(0, 30, 2), torch::arange(20, 35)});
  const Tensor scores = frechet_scores(pool, batches);
  const auto gaussian = [](const Tensor& x) {
    const Tensor centred = x - x.mean(0);
    return centred.t().mm(centred) / (x.size(0) - 1);
  };
  const Tensor all = pool.to(torch::kDouble);
  const Tensor a = gaussian(all);
  const Tensor eps = torch::eye(dim, torch::kDouble) * 1e-8;
  for (int64_t c = 0; c < 2; ++c) {
    const Tensor x = all.index_select(0, batches[c]);
    const Tensor b = gaussian(x);
    const Tensor root = square_root((a + eps).mm(b + eps));
    const Tensor expected = (all.mean(0) - x.mean(0)).square().sum() +
                            a.trace() + b.trace() - 2 * root.trace();
    EXPECT_NEAR(scores[c].item<double>(), expected.item<double>(), 1e-9);
  }
}

TEST(FrechetScores, AreFiniteForSingularCovariances) {
  const Tensor pool = random_points(40, 32, 4);
  const Tensor few = torch::arange(8).view({2, 4});
  EXPECT_TRUE(torch::isfinite(frechet_scores(pool, few)).all().item<bool>());
  EXPECT_NEAR(frechet_scores(torch::ones({6, 3}), torch::arange(4).unsqueeze(0))
                  .item<double>(),
              0, 1e-6);
  EXPECT_NEAR(
      frechet_scores(pool, torch::arange(40).unsqueeze(0)).item<double>(), 0,
      1e-4);
}

TEST(FarthestPoints, AgreeWithSearch) {
  const Tensor points = random_points(60, 5, 5);
  const std::vector<int64_t> chosen = farthest_points(points, 20);
  ASSERT_EQ(chosen.size(), 20u);
  EXPECT_EQ(chosen[0], 0);
  for (size_t k = 1; k < chosen.size(); ++k) {
    int64_t best = -1;
    double largest = -1;
    for (int64_t i = 0; i < 60; ++i) {
      double nearest = 1e9;
      for (size_t j = 0; j < k; ++j) {
        nearest = std::min(
            nearest, (points[i] - points[chosen[j]]).norm().item<double>());
      }
      if (nearest > largest) {
        largest = nearest;
        best = i;
      }
    }
    EXPECT_EQ(chosen[k], best) << k;
  }
}

TEST(FarthestPoints, AreDifferentRowsOfEqualPoints) {
  EXPECT_EQ(farthest_points(torch::zeros({4, 3}), 4),
            (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(farthest_points(torch::ones({1, 3}), 1), (std::vector<int64_t>{0}));
  EXPECT_THROW(farthest_points(torch::ones({2, 3}), 3), c10::ValueError);
}

}  // namespace
}  // namespace kith
