#include "kith/losses/row_loss.h"

#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

Pairs list(const Tensor& pairs) {
  Pairs all;
  for (int64_t i = 0; i < pairs.size(0); ++i) {
    all.emplace_back(pairs[i][0].item<int64_t>(), pairs[i][1].item<int64_t>());
  }
  return all;
}

TEST(RandomPairs, AreAllOfEachClassInTheOrderOfLabels) {
  const MixedPairs mixed =
      random_pairs(labels_of({7, -2, 7, 40, -2, 7, 7}), 1, 100);
  EXPECT_EQ(list(mixed.pairs),
            (Pairs{{1, 4}, {0, 2}, {0, 5}, {0, 6}, {2, 5}, {2, 6}, {5, 6}}));
  EXPECT_EQ(mixed.alphas.sizes(), (std::vector<int64_t>{7}));
  EXPECT_EQ(mixed.alphas.scalar_type(), at::kDouble);
}

TEST(RandomPairs, AlphasAreUniform) {
  const MixedPairs mixed =
      random_pairs(torch::zeros({100}, torch::kLong), 3, 4950);
  const Tensor sorted = std::get<0>(mixed.alphas.sort());
  EXPECT_GE(sorted[0].item<double>(), 0);
  EXPECT_LT(sorted[-1].item<double>(), 1);
  // Kolmogorov-Smirnov at one in a thousand.
  EXPECT_LT(max_difference(sorted, torch::linspace(0, 1, 4950)), 0.028);
}

TEST(RandomPairs, TheSeedDecides) {
  const Tensor labels = labels_of({0, 0, 0, 1, 1});
  const Tensor alphas = random_pairs(labels, 1, 10).alphas;
  EXPECT_TRUE(torch::equal(random_pairs(labels, 1, 10).alphas, alphas));
  EXPECT_FALSE(torch::equal(random_pairs(labels, 2, 10).alphas, alphas));
}

TEST(RandomPairs, HowClassesAreInterleavedDoesNotMatter) {
  // Members: a0 a1 a2 of class 0 and b0 b1 of class 1, in two orders.
  const MixedPairs apart = random_pairs(labels_of({0, 0, 0, 1, 1}), 1, 10);
  const MixedPairs mingled = random_pairs(labels_of({1, 0, 0, 1, 0}), 1, 10);
  EXPECT_TRUE(torch::equal(mingled.alphas, apart.alphas));
  EXPECT_EQ(list(apart.pairs), (Pairs{{0, 1}, {0, 2}, {1, 2}, {3, 4}}));
  EXPECT_EQ(list(mingled.pairs), (Pairs{{1, 2}, {1, 4}, {2, 4}, {0, 3}}));
}

TEST(RandomPairs, OfNothing) {
  for (const Tensor& labels : {labels_of({}), labels_of({1, 2, 3})}) {
    const MixedPairs mixed = random_pairs(labels, 1, 0);
    EXPECT_EQ(mixed.pairs.sizes(), (std::vector<int64_t>{0, 2}));
    EXPECT_EQ(mixed.alphas.numel(), 0);
    EXPECT_TRUE(mixed.defined());
  }
}

TEST(RandomPairs, SayWhatToDoAboutTooMany) {
  const Tensor labels = labels_of({4, 4, 9, 9, 9, 9});  // 1 + 6 pairs
  EXPECT_EQ(random_pairs(labels, 1, 7).alphas.numel(), 7);
  expect_error<c10::ValueError>([&] { random_pairs(labels, 1, 6); },
                                "simix_limit (6)", "class 9 has 4 examples",
                                "sampler.per_class", "larger simix_limit");
  // Refused before anything is allocated.
  expect_error<c10::ValueError>(
      [&] { random_pairs(torch::zeros({1 << 20}, torch::kLong), 1, 100000); },
      "class 0 has 1048576 examples");
}

}  // namespace
}  // namespace kith
