#include "kith/miners/random.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

Tensor mine(const Tensor& labels, uint64_t seed) {
  return RandomMiner()(random_normal({labels.size(0), 3}, 1), labels, seed);
}

TEST(RandomMiner, EveryAnchorGetsAPositiveAndANegative) {
  const Tensor labels = labels_of({3, 8, 3, 5, 8, 3, 1, 8, 3});
  const auto label = labels.accessor<int64_t, 1>();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Tensor tuples = mine(labels, seed);
    ASSERT_EQ(tuples.size(1), 3);
    const auto t = tuples.accessor<int64_t, 2>();
    std::vector<int64_t> anchors;
    for (int64_t i = 0; i < tuples.size(0); ++i) {
      anchors.push_back(t[i][0]);
      EXPECT_EQ(label[t[i][0]], label[t[i][1]]);
      EXPECT_NE(t[i][0], t[i][1]);
      EXPECT_NE(label[t[i][0]], label[t[i][2]]);
    }
    // 3 and 6 are alone in their class.
    EXPECT_EQ(anchors, (std::vector<int64_t>{0, 1, 2, 4, 5, 7, 8}));
  }
}

// 10 000 draws: each of 3 positives and 5 negatives of every anchor within six
// standard deviations of its share.
TEST(RandomMiner, ChoosesUniformly) {
  const Tensor labels = labels_of({0, 1, 0, 2, 0, 1, 0, 2, 2});
  std::map<std::pair<int64_t, int64_t>, int> positives;
  std::map<std::pair<int64_t, int64_t>, int> negatives;
  constexpr int kDraws = 10'000;
  const RandomMiner miner;
  const Tensor embeddings = torch::zeros({9, 1});
  Rng rng(4, Stream::kMiner);
  for (int draw = 0; draw < kDraws; ++draw) {
    const Tensor tuples = miner(embeddings, labels, rng);
    const auto t = tuples.accessor<int64_t, 2>();
    for (int64_t i = 0; i < tuples.size(0); ++i) {
      ++positives[{t[i][0], t[i][1]}];
      ++negatives[{t[i][0], t[i][2]}];
    }
  }
  for (const int64_t anchor : {0, 2, 4, 6}) {
    for (int64_t other = 0; other < 9; ++other) {
      if (other == anchor) continue;
      if (labels[other].item<int64_t>() == 0) {
        EXPECT_NEAR((positives[{anchor, other}]), kDraws / 3., 283);
      } else {
        EXPECT_NEAR((negatives[{anchor, other}]), kDraws / 5., 240);
      }
    }
  }
}

TEST(RandomMiner, SameKeySameTuples) {
  const Tensor labels = labels_of({0, 1, 0, 1, 2, 2, 0, 1});
  EXPECT_TRUE(torch::equal(mine(labels, 7), mine(labels, 7)));
  EXPECT_FALSE(torch::equal(mine(labels, 7), mine(labels, 8)));
}

TEST(RandomMiner, BatchesWithoutATupleGiveNone) {
  for (const Tensor& labels : {labels_of({}), labels_of({1}),
                               labels_of({1, 1, 1}), labels_of({1, 2, 3})}) {
    const Tensor tuples = mine(labels, 1);
    EXPECT_EQ(tuples.sizes(), (std::vector<int64_t>{0, 3})) << labels;
    EXPECT_EQ(tuples.scalar_type(), torch::kLong);
  }
}

}  // namespace
}  // namespace kith
