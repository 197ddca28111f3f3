// Rows that several ranks share or divide: reading, ranks and neighbours are
// those of one rank.
#include "kith/index/shared_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/flat.h"
#include "kith/index/ranks.h"
#include "kith/index/row_blocks.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

/// Uneven shares; from three ranks on, the second has nothing.
Tensor share_of(const Tensor& all, const Communicator& ranks) {
  const int64_t n = all.size(0);
  const auto begin = [&](int64_t rank) {
    if (rank == 2 && ranks.size() > 2) --rank;
    return n * rank * rank / (ranks.size() * ranks.size());
  };
  return all.slice(0, begin(ranks.rank()), begin(ranks.rank() + 1))
      .contiguous();
}

/// Every query wants some items, in no order.
RankedPairs pairs_of(int64_t queries, int64_t items, int64_t wanted,
                     uint64_t seed) {
  RankedPairs pairs;
  for (int64_t q = 0; q < queries; ++q) {
    const Tensor order =
        random_permutation(items, seed * 1000 + static_cast<uint64_t>(q));
    for (int64_t i = 0; i < (q % 7 == 3 ? 0 : wanted); ++i) {
      const auto item = order[i].item<int64_t>();
      if (item != q) pairs.items.push_back(item);
    }
    pairs.offsets.push_back(std::ssize(pairs.items));
  }
  return pairs;
}

/// The ways in which ranks have a gallery together.
enum class Way { kShared, kDivided, kDividedFile };

class EveryWay : public ::testing::TestWithParam<Way> {
 protected:
  Rows of(const Tensor& all, Communicator& ranks) const {
    switch (GetParam()) {
      case Way::kShared:
        return shared_rows(share_of(all, ranks), ranks);
      case Way::kDivided:
        return divided_rows(all, ranks);
      case Way::kDividedFile:
        break;
    }
    const auto read = [all](int64_t first, int64_t count) {
      return all.narrow(0, first, count);
    };
    return divided_rows(rows_from(all.size(0), all.size(1), read), ranks);
  }
};

TEST_P(EveryWay, ReadsTheSameBlocksAsOneRank) {
  const Tensor all = random_normal({23, 5}, 1, at::kFloat);
  for (const int64_t size : kRankCounts) {
    on_ranks<bool>(size, [&](Communicator& ranks) {
      const Rows rows = of(all, ranks);
      EXPECT_EQ(rows.count(), 23);
      EXPECT_EQ(rows.dim(), 5);
      EXPECT_EQ(rows.shard() == nullptr, ranks.is_alone());
      for (const int64_t block : {1, 4, 23}) {
        for_each_block(rows, block, [&](int64_t first, const Tensor& part) {
          EXPECT_TRUE(torch::equal(part, all.narrow(0, first, part.size(0))));
        });
      }
      EXPECT_TRUE(same_bits(rows_at(rows, {7, 0, 22, 7}),
                            all.index_select(0, labels_of({7, 0, 22, 7}))));
      return true;
    });
  }
}

TEST_P(EveryWay, RanksAreThoseOfOneRankWhereTiesAreMany) {
  for (const int64_t items : {5, 60, 700}) {
    const Tensor queries = random_integers({30, 3}, 2, 1);
    const Tensor gallery = random_integers({items, 3}, 2, 2);
    const Tensor self = torch::arange(30, torch::kLong)
                            .clamp_max(items)
                            .masked_fill(torch::arange(30) >= items, -1);
    const RankedPairs pairs =
        pairs_of(30, items, std::min<int64_t>(items, 40), 3);
    for (const Tensor& skip : {Tensor(), self}) {
      const std::vector<int64_t> alone =
          exact_ranks(queries, gallery, pairs, skip);
      for (const int64_t size : kRankCounts) {
        const auto found =
            on_ranks<std::vector<int64_t>>(size, [&](Communicator& ranks) {
              return exact_ranks(queries, of(gallery, ranks), pairs, skip);
            });
        for (const auto& own : found) EXPECT_EQ(own, alone) << size;
      }
    }
  }
}

TEST_P(EveryWay, RanksAmongThemselvesAreThoseOfOneRank) {
  // More than one square block; copies, and rows that differ by rounding.
  const int64_t n = 2100;
  Tensor rows = normalize_rows(random_normal({n, 8}, 5, at::kFloat));
  rows.slice(0, 2000, 2100).copy_(rows.slice(0, 100, 200));
  rows.slice(0, 1000, 1050)
      .copy_(normalize_rows(rows.slice(0, 0, 1) +
                            1e-6 * random_normal({50, 8}, 6, at::kFloat)));
  const Tensor self = torch::arange(n, torch::kLong);
  const RankedPairs pairs = pairs_of(n, n, 5, 7);
  const std::vector<int64_t> alone = exact_ranks(rows, rows, pairs, self);
  for (const int64_t size : {2, 3}) {
    const auto found =
        on_ranks<std::vector<int64_t>>(size, [&](Communicator& ranks) {
          const Rows all = of(rows, ranks);
          return exact_ranks(all, all, pairs, self, {1});
        });
    for (const auto& own : found) EXPECT_EQ(own, alone) << size;
  }
}

TEST_P(EveryWay, NeighboursAreThoseOfOneRankWhereTiesAreMany) {
  for (const int64_t items : {3, 50, 400}) {
    const Tensor queries = random_integers({40, 3}, 2, 11);
    const Tensor gallery = random_integers({items, 3}, 2, 12);
    const Tensor self = torch::arange(40, torch::kLong)
                            .masked_fill(torch::arange(40) >= items, -1);
    for (const int64_t k : {int64_t{1}, int64_t{7}, items + 5}) {
      for (const Tensor& skip : {Tensor(), self}) {
        const Neighbours alone =
            exact_search(queries, gallery, skip, {k, /*memory_mb=*/1});
        for (const int64_t size : kRankCounts) {
          const auto found =
              on_ranks<Neighbours>(size, [&](Communicator& ranks) {
                return exact_search(queries, of(gallery, ranks), skip, {k, 1});
              });
          for (const Neighbours& own : found) {
            EXPECT_TRUE(torch::equal(own.indices, alone.indices));
            EXPECT_TRUE(same_bits(own.similarities, alone.similarities));
          }
        }
      }
    }
  }
}

TEST_P(EveryWay, QueriesMayBeSharedToo) {
  const Tensor rows = normalize_rows(random_normal({90, 4}, 13, at::kFloat));
  const Tensor self = torch::arange(90, torch::kLong);
  const Neighbours alone = exact_search(rows, rows, self, {6});
  for (const int64_t size : {2, 4}) {
    const auto found = on_ranks<Neighbours>(size, [&](Communicator& ranks) {
      const Rows all = of(rows, ranks);
      return exact_search(all, all, self, {6});
    });
    for (const Neighbours& own : found) {
      EXPECT_TRUE(torch::equal(own.indices, alone.indices));
      EXPECT_TRUE(same_bits(own.similarities, alone.similarities));
    }
  }
}

TEST_P(EveryWay, OnAGpuTheyAreThoseOfOneRankOnTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const int64_t n = 1500;
  Tensor rows = normalize_rows(random_normal({n, 8}, 31, at::kFloat));
  rows.slice(0, 1400, 1500).copy_(rows.slice(0, 100, 200));
  const Tensor self = torch::arange(n, torch::kLong);
  const RankedPairs pairs = pairs_of(n, n, 5, 32);
  const std::vector<int64_t> alone = exact_ranks(rows, rows, pairs, self);
  const Neighbours nearest = exact_search(rows, rows, self, {9});
  for (const int64_t size : {2, 3}) {
    on_ranks<bool>(size, [&](Communicator& ranks) {
      const Rows all = of(rows.cuda(), ranks).on(at::kCUDA);
      EXPECT_EQ(exact_ranks(all, all, pairs, self), alone);
      const Neighbours found = exact_search(all, all, self, {9});
      EXPECT_TRUE(torch::equal(found.indices, nearest.indices));
      EXPECT_TRUE(same_bits(found.similarities, nearest.similarities));
      return true;
    });
  }
}

TEST_P(EveryWay, ABrokenItemOfOneRankEndsAll) {
  Tensor gallery = random_normal({40, 3}, 21, at::kFloat);
  gallery[38][1] = NAN;
  const Tensor queries = random_normal({5, 3}, 22, at::kFloat);
  const RankedPairs pairs = pairs_of(5, 30, 3, 23);
  const auto expect_ended = [](const std::vector<std::string>& errors) {
    for (const std::string& error : errors) {
      EXPECT_THAT(error, HasSubstr("NaN"));
      EXPECT_THAT(error,
                  ::testing::AnyOf(HasSubstr("item 38"), HasSubstr("row 38")))
          << "its place in the gallery";
    }
  };
  expect_ended(errors_of_ranks(3, [&](Communicator& ranks) {
    exact_ranks(queries, of(gallery, ranks), pairs, {});
  }));
  expect_ended(errors_of_ranks(3, [&](Communicator& ranks) {
    exact_search(queries, of(gallery, ranks), {}, {2});
  }));
}

INSTANTIATE_TEST_SUITE_P(SharedRows, EveryWay,
                         ::testing::Values(Way::kShared, Way::kDivided,
                                           Way::kDividedFile));

}  // namespace
}  // namespace kith
