#include "kith/ops/gram.h"

#include <limits>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

TEST(SquaredDistances, AgreeWithDifferences) {
  const Tensor x = random_normal({9, 5}, 1);
  EXPECT_LE(max_difference(squared_distances(x), all_distances(x).square()),
            1e-13);
}

/// Rounding would leave duplicates at a small distance in some direction.
TEST(SquaredDistances, AreZeroForDuplicates) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const Tensor x = random_normal({6, 300}, 2, type).repeat({2, 1}) * 17;
    const Tensor squares = squared_distances(x);
    const Tensor zero = squares == 0;
    EXPECT_EQ(zero.sum().item<int64_t>(), 24);  // 12 with two each
    EXPECT_TRUE(zero.diagonal().all().item<bool>());
    EXPECT_TRUE(zero.diagonal(6).all().item<bool>());
  }
}

TEST(SquaredDistances, ShowWhatIsNotANumber) {
  Tensor x = random_normal({3, 4}, 3);
  x[1][2] = std::numeric_limits<double>::infinity();
  const Tensor bad = torch::isfinite(squared_distances(x)).logical_not();
  EXPECT_TRUE(bad[1].all().item<bool>());
}

TEST(SquaredDistancesGradient, IsThatOfAutograd) {
  const Tensor x = random_normal({7, 4}, 4).requires_grad_();
  const Tensor slope = random_normal({7, 7}, 5);
  const Tensor difference = x.unsqueeze(1) - x.unsqueeze(0);
  (difference.square().sum(2) * slope).sum().backward();
  EXPECT_LE(
      max_difference(squared_distances_gradient(x.detach(), slope), x.grad()),
      1e-13);
}

}  // namespace
}  // namespace kith
