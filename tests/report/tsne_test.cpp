#include "kith/report/tsne.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Cosines of unit vectors around a few directions.
struct Clusters {
  std::vector<float> similarities;
  std::vector<PlanePoint> start;
  size_t per_class;

  Clusters(int64_t classes, int64_t count, double noise)
      : per_class(static_cast<size_t>(count)) {
    const Tensor centres = random_normal({classes, 16}, 1, at::kDouble);
    const Tensor rows = normalize_rows(
        centres.repeat_interleave(count, 0) +
        noise * random_normal({classes * count, 16}, 2, at::kDouble));
    const Tensor s = torch::mm(rows, rows.t()).to(at::kFloat).contiguous();
    similarities.assign(s.data_ptr<float>(), s.data_ptr<float>() + s.numel());
    for (int64_t i = 0; i < rows.size(0); ++i) {
      start.push_back({rows[i][0].item<double>(), rows[i][1].item<double>()});
    }
  }
  size_t size() const { return start.size(); }
};

double distance(const PlanePoint& a, const PlanePoint& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1]);
}

TEST(Tsne, AffinitiesAreADistributionThatIsSymmetric) {
  const Clusters set(4, 15, 0.5);
  const std::vector<double> p =
      tsne_affinities(set.similarities, set.size(), 10);
  double sum = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    EXPECT_EQ(p[i * set.size() + i], 0);
    for (size_t j = 0; j < set.size(); ++j) {
      EXPECT_EQ(p[i * set.size() + j], p[j * set.size() + i]);
      sum += p[i * set.size() + j];
    }
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// On a circle all points have the same distances, and so the same conditional
// probabilities, which are then N p_ij.
TEST(Tsne, AffinitiesHaveThePerplexity) {
  constexpr size_t kCount = 60;
  std::vector<float> similarities;
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t j = 0; j < kCount; ++j) {
      const double turn = (static_cast<double>(i) - static_cast<double>(j)) /
                          static_cast<double>(kCount);
      similarities.push_back(
          static_cast<float>(std::cos(2 * 3.14159265358979 * turn)));
    }
  }
  for (const double perplexity : {2.5, 10.0, 30.0}) {
    const std::vector<double> p =
        tsne_affinities(similarities, kCount, perplexity);
    for (const size_t i : {size_t{0}, size_t{17}}) {
      double entropy = 0;
      for (size_t j = 0; j < kCount; ++j) {
        const double q = kCount * p[i * kCount + j];
        if (q > 0) entropy -= q * std::log(q);
      }
      EXPECT_NEAR(std::exp(entropy), perplexity, 1e-3 * perplexity);
    }
  }
}

TEST(Tsne, GradientIsThatOfTheDivergence) {
  const Clusters set(3, 7, 0.5);
  const std::vector<double> p =
      tsne_affinities(set.similarities, set.size(), 5);
  const std::vector<PlanePoint> gradient = tsne_gradient(p, set.start);
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < set.size(); ++i) {
    for (size_t c = 0; c < 2; ++c) {
      std::vector<PlanePoint> up = set.start, down = set.start;
      up[i][c] += kStep;
      down[i][c] -= kStep;
      const double slope =
          (tsne_divergence(p, up) - tsne_divergence(p, down)) / (2 * kStep);
      EXPECT_NEAR(gradient[i][c], slope, 1e-8);
    }
  }
}

TEST(Tsne, DivergenceFallsWithTheIterations) {
  const Clusters set(6, 20, 1.0);
  const std::vector<double> p =
      tsne_affinities(set.similarities, set.size(), 30);
  double before = tsne_divergence(p, set.start);
  for (const int64_t iterations : {250, 400, 600}) {
    const double after = tsne_divergence(
        p, tsne(set.similarities, set.start, {.iterations = iterations}));
    EXPECT_LT(after, before);
    before = after;
  }
}

TEST(Tsne, ClustersStayApart) {
  const Clusters set(5, 40, 0.3);
  const std::vector<PlanePoint> map = tsne(set.similarities, set.start);
  double widest = 0, nearest = 1e300;
  for (size_t i = 0; i < map.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double apart = distance(map[i], map[j]);
      if (i / set.per_class == j / set.per_class) {
        widest = std::max(widest, apart);
      } else {
        nearest = std::min(nearest, apart);
      }
    }
  }
  EXPECT_GT(nearest, 0.5 * widest);
}

TEST(Tsne, IsTheSameToTheBitWithAnyNumberOfThreads) {
  const Clusters set(4, 30, 0.8);
  const std::vector<PlanePoint> map = tsne(set.similarities, set.start);
  EXPECT_EQ(tsne(set.similarities, set.start), map);
  const int threads = torch::get_num_threads();
  torch::set_num_threads(1);
  EXPECT_EQ(tsne(set.similarities, set.start), map);
  torch::set_num_threads(threads);
}

TEST(Tsne, TakesFewPointsAndEqualOnes) {
  const std::vector<PlanePoint> three = {{1, 2}, {3, 4}, {5, 6}};
  EXPECT_EQ(tsne(std::vector<float>(9, 1.F), three), three);
  const std::vector<PlanePoint> one_place(10, PlanePoint{1, 1});
  EXPECT_EQ(tsne(std::vector<float>(100, 1.F), one_place), one_place);
  // Pairs of equal vectors, and all equal vectors that start apart.
  Clusters set(20, 2, 0.0);
  for (const auto& similarities :
       {set.similarities, std::vector<float>(set.similarities.size(), 1.F)}) {
    for (const PlanePoint& point : tsne(similarities, set.start)) {
      EXPECT_TRUE(std::isfinite(point[0]) && std::isfinite(point[1]));
    }
  }
}

}  // namespace
}  // namespace kith
