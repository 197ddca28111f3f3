#include "kith/miners/batch_easy_hard.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/miners/miners.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::vector<Row> mined(const std::string& positive,
                       const std::string& negative) {
  // Points of a line; the anchor 0 has positives at 2 and 5, negatives at 1, 3
  // and 7.
  const Tensor x =
      torch::tensor({0., 2., 5., 1., 3., 7.}, at::kDouble).unsqueeze(1);
  const Tensor labels = labels_of({1, 1, 1, 2, 3, 4});
  const BatchEasyHardMiner miner({.positive = positive, .negative = negative});
  std::vector<Row> of_first;
  for (const Row& row : sorted_rows(miner(x, labels))) {
    if (row[0] == 0) of_first.push_back(row);
  }
  return of_first;
}

using Rows = std::vector<Row>;

TEST(BatchEasyHardMiner, StrategiesAreThoseOfTheirNames) {
  EXPECT_EQ(mined("easy", "hard"), (Rows{{0, 1}, {0, 3}}));
  EXPECT_EQ(mined("hard", "easy"), (Rows{{0, 2}, {0, 5}}));
  EXPECT_EQ(mined("easy", "semihard"), (Rows{{0, 1}, {0, 4}}));
  EXPECT_EQ(mined("hard", "semihard"), (Rows{{0, 2}, {0, 5}}));
  EXPECT_EQ(mined("semihard", "easy"), (Rows{{0, 2}, {0, 5}}));
  EXPECT_EQ(mined("semihard", "hard"), Rows{});  // no positive below 1
  EXPECT_EQ(mined("all", "hard"), (Rows{{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(mined("all", "all").size(), 5u);
}

TEST(BatchEasyHardMiner, SemihardNeedsOnePairBesideIt) {
  const auto refused = [](const std::string& positive,
                          const std::string& negative) {
    expect_error<ConfigError>([&] { mined(positive, negative); },
                              "'batch_easy_hard.positive' " + positive,
                              "'batch_easy_hard.negative' " + negative,
                              "easy or hard");
  };
  refused("semihard", "semihard");
  refused("semihard", "all");
  refused("all", "semihard");
}

}  // namespace
}  // namespace kith
