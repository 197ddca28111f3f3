#include "kith/eval/class_spread.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/eval/sets.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// From all pairs of unit vectors in double.
ClassSpread reference(const Tensor& rows, const Tensor& labels) {
  const Tensor x = normalize_rows(rows.to(torch::kDouble));
  std::map<int64_t, std::vector<int64_t>> classes;
  for (int64_t i = 0; i < x.size(0); ++i) {
    classes[labels[i].item<int64_t>()].push_back(i);
  }
  const auto pairs_mean = [](const Tensor& vectors) {
    const Tensor similarity = torch::mm(vectors, vectors.t());
    const auto n = static_cast<double>(vectors.size(0));
    return 1 - (similarity.sum() - similarity.trace()).item<double>() /
                   (n * (n - 1));
  };
  double sum = 0;
  int64_t count = 0;
  std::vector<Tensor> means;
  for (const auto& [label, items] : classes) {
    const Tensor own = x.index_select(0, labels_of(items));
    means.push_back(own.mean(0));
    if (items.size() < 2) continue;
    sum += pairs_mean(own);
    ++count;
  }
  return {sum / static_cast<double>(count),
          pairs_mean(normalize_rows(torch::stack(means)))};
}

TEST(ClassSpread, AgreesWithAllPairs) {
  const Tensor rows = normalize_rows(random_normal({70, 6}, 1, torch::kFloat));
  const Tensor labels = random_integers({70}, 12, 2).to(torch::kLong);
  const ClassSpread expected = reference(rows, labels);
  const ClassSpread found = class_spread(set_of(rows, labels));
  EXPECT_NEAR(found.within, expected.within, 1e-12);
  EXPECT_NEAR(found.between, expected.between, 1e-12);
}

TEST(ClassSpread, IsTheSameInSmallBlocks) {
  // 1 MB holds 85 rows and 85 classes.
  const Tensor rows =
      normalize_rows(random_normal({300, 512}, 3, torch::kFloat));
  const Tensor labels = torch::arange(300, torch::kLong).remainder(120);
  const ClassSpread whole = class_spread(set_of(rows, labels));
  const ClassSpread blocks = class_spread(set_of(rows, labels, 1));
  EXPECT_NEAR(blocks.within, whole.within, 1e-12);
  EXPECT_NEAR(blocks.between, whole.between, 1e-12);
}

TEST(ClassSpread, IsNanWhereThereAreNoPairs) {
  const ClassSpread alone =
      class_spread(set_of(torch::eye(3), labels_of({4, 5, 6})));
  EXPECT_TRUE(std::isnan(alone.within));
  EXPECT_NEAR(alone.between, 1, 1e-15);
  const ClassSpread one =
      class_spread(set_of(torch::eye(3), labels_of({4, 4, 4})));
  EXPECT_NEAR(one.within, 1, 1e-15);
  EXPECT_TRUE(std::isnan(one.between));
}

TEST(ClassSpread, OfEqualItemsIsZeroAndNotRounding) {
  const Tensor rows = normalize_rows(random_normal({1, 37}, 5, torch::kFloat))
                          .expand({40, 37})
                          .contiguous();
  const ClassSpread found =
      class_spread(set_of(rows, torch::arange(40, torch::kLong) % 4));
  EXPECT_EQ(found.within, 0);
  EXPECT_EQ(found.between, 0);
}

}  // namespace
}  // namespace kith
