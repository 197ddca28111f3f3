#include "kith/distributed/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/rank_threads.h"

namespace kith {
namespace {

/// What lane `lane` adds, with sums that differ in another order.
Tensor tensor_of_lane(int64_t lane, torch::IntArrayRef shape,
                      torch::ScalarType type = torch::kFloat) {
  torch::Generator random = torch::make_generator<torch::CPUGeneratorImpl>(
      static_cast<uint64_t>(lane) + 1);
  const Tensor numbers = torch::randn(shape, random);
  return (numbers * torch::exp(3 * torch::randn(shape, random))).to(type);
}

/// The contract, word by word.
Tensor reference_sum(int64_t begin, int64_t end, torch::IntArrayRef shape,
                     torch::ScalarType type) {
  if (end - begin == 1) return tensor_of_lane(begin, shape, type);
  const int64_t m = (begin + end + 1) / 2;
  return reference_sum(begin, m, shape, type) +
         reference_sum(m, end, shape, type);
}

void expect_sum(int64_t lanes, int64_t size, torch::IntArrayRef shape,
                torch::ScalarType type) {
  const Tensor expected = reference_sum(0, lanes, shape, type);
  const auto errors = errors_of_ranks(size, [&](Communicator& ranks) {
    const Lanes mine(lanes, ranks);
    LaneSum sum(mine, ranks);
    for (int64_t lane = mine.first; lane < mine.last; ++lane) {
      sum.add(tensor_of_lane(lane, shape, type));
    }
    const Tensor total = sum.total();
    EXPECT_TRUE(torch::equal(total, expected))
        << lanes << " lanes on " << size << " ranks, " << shape << " " << type;
  });
  EXPECT_THAT(errors, testing::Each(""));
}

TEST(Lanes, AreDivided) {
  auto ranks = thread_ranks(3);
  const Lanes lanes(6, *ranks[1]);
  EXPECT_EQ(lanes.count, 6);
  EXPECT_EQ(lanes.first, 2);
  EXPECT_EQ(lanes.last, 4);
  EXPECT_EQ(lanes.begin_of(2, 3), 4);
  EXPECT_EQ(Lanes(0, *ranks[2]).first, 2);
  EXPECT_EQ(Lanes(0, alone()).count, 1);
  EXPECT_EQ(Lanes(5, alone()).last, 5);
  EXPECT_THROW(Lanes(4, *ranks[0]), ConfigError);
  EXPECT_THROW(Lanes(-3, *ranks[0]), ConfigError);
}

TEST(LaneSum, HasTheSameBitsOnAnyNumberOfRanks) {
  for (int64_t lanes = 1; lanes <= 12; ++lanes) {
    for (int64_t size = 1; size <= lanes; ++size) {
      if (lanes % size != 0) continue;
      expect_sum(lanes, size, {37}, torch::kFloat);      // gathered whole
      expect_sum(lanes, size, {20'011}, torch::kFloat);  // in slices
    }
  }
}

TEST(LaneSum, OfOtherShapesAndTypes) {
  for (const int64_t size : {1, 2, 4}) {
    expect_sum(4, size, {101, 103}, torch::kFloat);
    expect_sum(4, size, {3, 5}, torch::kDouble);
    expect_sum(4, size, {30'000}, torch::kBFloat16);
    expect_sum(4, size, {}, torch::kFloat);
    expect_sum(4, size, {0, 3}, torch::kFloat);
  }
  expect_sum(6, 3, {30'000}, torch::kLong);
}

TEST(LaneSum, SendsOneTensorWhateverTheNumberOfLanes) {
  // Powers of two: 4 lanes of a rank are a node of the tree.
  for (const int64_t lanes : {4, 16}) {
    const auto errors = errors_of_ranks(4, [&](Communicator& ranks) {
      const Lanes mine(lanes, ranks);
      LaneSum sum(mine, ranks);
      for (int64_t lane = mine.first; lane < mine.last; ++lane) {
        sum.add(torch::ones({40'000}));
      }
      EXPECT_EQ(sum.total().sum().item<double>(), 40'000.0 * lanes);
      // Three quarters to be added, and a quarter of the sum to three.
      EXPECT_EQ(ranks.bytes_sent(), (30'000 + 3 * 10'000) * 4);
    });
    EXPECT_THAT(errors, testing::Each(""));
  }
}

TEST(LaneSum, BeginsAnewAfterATotalThatIsKept) {
  for (const int64_t count : {8, 20'000}) {
    for (const int64_t size : {1, 2, 4}) {
      for (const int64_t lanes : {size, int64_t{4}}) {
        const auto errors = errors_of_ranks(size, [&](Communicator& ranks) {
          const Lanes mine(lanes, ranks);
          LaneSum sum(mine, ranks);
          const Tensor kept = torch::empty({count});
          for (const int64_t step : {1, 2}) {
            for (int64_t lane = mine.first; lane < mine.last; ++lane) {
              const Tensor one = torch::full({count}, step * (lane + 1.0F));
              const bool is_several = mine.last - mine.first > 1;
              const bool takes_its_place = is_several && lane == mine.first;
              sum.add(takes_its_place ? kept.copy_(one) : one);
            }
            sum.total_into(kept);
            EXPECT_TRUE(kept.equal(
                torch::full({count}, step * lanes * (lanes + 1) / 2.0F)));
          }
        });
        EXPECT_THAT(errors, testing::Each(""));
      }
    }
  }
}

TEST(LaneSum, AllReduceLeavesItsTensor) {
  for (const int64_t count : {5, 50'000}) {
    const auto errors = errors_of_ranks(3, [&](Communicator& ranks) {
      const Tensor mine = torch::full({count}, ranks.rank() + 1);
      EXPECT_TRUE(
          torch::equal(ranks.all_reduce(mine), torch::full({count}, 6)));
      EXPECT_TRUE(torch::equal(mine, torch::full({count}, ranks.rank() + 1)));
    });
    EXPECT_THAT(errors, testing::Each(""));
  }
}

TEST(LaneSum, ChecksTheShapes) {
  LaneSum sum(Lanes(2, alone()), alone());
  sum.add(torch::zeros({3}));
  EXPECT_THROW(sum.add(torch::zeros({4})), c10::Error);
}

}  // namespace
}  // namespace kith
