#include "kith/report/embedding_scatter.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/embedded_set.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

EmbeddingScatter scatter_of(const EmbeddedSplit& split) {
  return embedding_scatter(split, split.tasks[0], split.rows_of, 64);
}

TEST(EmbeddingScatter, HasTheAxesOfLargestVariance) {
  // Around (5, 5, 5): 3 up and down the last axis, 1 along the first.
  const Tensor rows = torch::tensor(
      {{5.F, 5.F, 8.F}, {5.F, 5.F, 2.F}, {6.F, 5.F, 5.F}, {4.F, 5.F, 5.F}});
  const EmbeddingScatter scatter = scatter_of(embedded(rows, {9, 9, 4, 7}));
  EXPECT_NEAR(scatter.explained[0], 0.9, 1e-12);
  EXPECT_NEAR(scatter.explained[1], 0.1, 1e-12);
  ASSERT_EQ(scatter.points.size(), 4U);
  const double x[] = {3, -3, 0, 0};
  const double y[] = {0, 0, 1, -1};
  const int64_t classes[] = {2, 2, 0, 1};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(scatter.points[i].x, x[i], 1e-12);
    EXPECT_NEAR(scatter.points[i].y, y[i], 1e-12);
    EXPECT_EQ(scatter.points[i].class_number, classes[i]);
    EXPECT_EQ(scatter.points[i].item, i);
  }
}

TEST(EmbeddingScatter, EqualsASingularValueDecomposition) {
  const Tensor rows = random_normal({60, 7}, 1, at::kFloat);
  const EmbeddedSplit split =
      embedded(rows, std::vector<int64_t>(60, 0), /*first=*/5);
  const EmbeddingScatter scatter =
      embedding_scatter(split, split.tasks[0], {64, 5, 30}, 64);
  const Tensor centred =
      rows.to(torch::kDouble) - rows.to(torch::kDouble).mean(0);
  const auto [u, s, v] = torch::svd(centred);
  const Tensor places = torch::mm(centred, v);
  const Tensor shares = s.square() / s.square().sum();
  EXPECT_NEAR(scatter.explained[0], shares[0].item<double>(), 1e-9);
  EXPECT_NEAR(scatter.explained[1], shares[1].item<double>(), 1e-9);
  const int64_t row[] = {59, 0, 25};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(std::abs(scatter.points[i].x),
                std::abs(places[row[i]][0].item<double>()), 1e-9);
    EXPECT_NEAR(std::abs(scatter.points[i].y),
                std::abs(places[row[i]][1].item<double>()), 1e-9);
  }
}

TEST(EmbeddingScatter, TakesOneDimensionAndOneItem) {
  const EmbeddingScatter line =
      scatter_of(embedded(torch::tensor({{1.F}, {-1.F}}), {1, 2}));
  EXPECT_EQ(line.points[0].x, 1);
  EXPECT_EQ(line.points[0].y, 0);
  EXPECT_EQ(line.explained[0], 1);
  EXPECT_EQ(line.explained[1], 0);
  const EmbeddingScatter point = scatter_of(embedded(torch::ones({1, 3}), {1}));
  ASSERT_EQ(point.points.size(), 1U);
  EXPECT_EQ(point.points[0].x, 0);
  EXPECT_EQ(point.explained[0], 0);
}

TEST(EmbeddingScatter, KnowsNoClassesWhereListsSayWhatIsRight) {
  EmbeddedSplit split =
      embedded(random_normal({4, 3}, 2, at::kFloat), {0, 1, 2, 3});
  split.tasks[0].lists = {{{}, {}, {}, {}}, {{}, {}, {}, {}}};
  for (const ScatterPoint& point : scatter_of(split).points) {
    EXPECT_EQ(point.class_number, 0);
  }
}

TEST(EmbeddingScatter, ItemsAreDrawnFromQueriesAndGallery) {
  const EvalTask task{"", {3, 8}, {5, 8, 20}};
  EXPECT_EQ(draw_scatter_items(task, 10, 0),
            (std::vector<int64_t>{3, 5, 8, 20}));
  const std::vector<int64_t> some = draw_scatter_items(task, 2, 1);
  EXPECT_EQ(some.size(), 2U);
  EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
  EXPECT_EQ(draw_scatter_items(task, 2, 1), some);
}

TEST(EmbeddingScatter, IsTurnedToBeLikeAnother) {
  EmbeddingScatter first;
  EmbeddingScatter second;
  for (int i = 0; i < 5; ++i) {
    first.points.push_back({1.0 * i, 2.0 * i, 0, 0});
    second.points.push_back({10.0 - i, 3.0 * i, 0, 0});
  }
  turn_like(first, second);
  EXPECT_EQ(second.points[1].x, -9);
  EXPECT_EQ(second.points[1].y, 3);
  const EmbeddingScatter before = second;
  turn_like(first, second);
  EXPECT_EQ(second.points[1].x, before.points[1].x);
}

}  // namespace
}  // namespace kith
