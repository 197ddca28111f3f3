#include "kith/index/ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/io/tensor_io.h"
#include "kith/ops/cpu_level.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Similarities in double, rounded to float32.
Tensor exact_products(const Tensor& x, const Tensor& y) {
  return torch::mm(x.to(torch::kDouble), y.to(torch::kDouble).t())
      .to(torch::kFloat);
}

/// Sorts the gallery of every query and looks the items up.
std::vector<int64_t> sorted_ranks(const Tensor& queries, const Tensor& gallery,
                                  const RankedPairs& pairs,
                                  const Tensor& exclude) {
  const Tensor all = exact_products(queries, gallery);
  const auto s = all.accessor<float, 2>();
  std::vector<int64_t> ranks;
  for (int64_t i = 0; i < pairs.queries(); ++i) {
    const int64_t q = pairs.first + i;
    std::vector<int64_t> order(static_cast<size_t>(gallery.size(0)));
    std::iota(order.begin(), order.end(), 0);
    if (exclude.defined()) {
      std::erase(order, exclude.accessor<int64_t, 1>()[q]);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return s[q][a] > s[q][b]; });
    for (int64_t p = pairs.offsets[static_cast<size_t>(i)];
         p < pairs.offsets[static_cast<size_t>(i) + 1]; ++p) {
      const int64_t item = pairs.items[static_cast<size_t>(p)];
      ranks.push_back(std::find(order.begin(), order.end(), item) -
                      order.begin() + 1);
    }
  }
  return ranks;
}

/// `wanted` random items for each of the queries, none of them excluded.
RankedPairs random_pairs(int64_t first, int64_t queries, int64_t gallery,
                         int64_t wanted, const Tensor& exclude, uint64_t seed) {
  RankedPairs pairs;
  pairs.first = first;
  for (int64_t q = 0; q < queries; ++q) {
    const Tensor permutation =
        random_permutation(gallery, seed * 1000 + static_cast<uint64_t>(q));
    const auto order = permutation.accessor<int64_t, 1>();
    // A query without wanted items now and then.
    const int64_t count = q % 7 == 3 ? 0 : wanted;
    for (int64_t i = 0; i < std::min(count, gallery); ++i) {
      const int64_t item = order[i];
      if (exclude.defined() &&
          exclude.accessor<int64_t, 1>()[first + q] == item) {
        continue;
      }
      pairs.items.push_back(item);
    }
    pairs.offsets.push_back(static_cast<int64_t>(pairs.items.size()));
  }
  return pairs;
}

/// Of each query the items of [0, gallery) that `takes` takes, rising.
template <class Takes>
RankedPairs pairs_where(int64_t queries, int64_t gallery, const Takes& takes) {
  RankedPairs pairs;
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t i = 0; i < gallery; ++i) {
      if (takes(q, i)) pairs.items.push_back(i);
    }
    pairs.offsets.push_back(std::ssize(pairs.items));
  }
  return pairs;
}

class EveryCpu : public ::testing::TestWithParam<CpuLevel> {
 protected:
  void SetUp() override { set_cpu_level(GetParam()); }
  void TearDown() override { set_cpu_level(cpu_levels().back()); }
};

TEST_P(EveryCpu, AgreesWithSortingWhereTiesAreMany) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const auto n = static_cast<int64_t>(40 + 400 * seed);
    const Tensor queries = random_integers({30, 3}, 2, seed);
    const Tensor gallery = random_integers({n, 3}, 2, seed + 100);
    const Tensor exclude = torch::arange(30, torch::kLong).sub(5).clamp(-1);
    for (const int64_t wanted : {1, 5, 200}) {
      for (const Tensor& skip : {Tensor(), exclude}) {
        const RankedPairs pairs = random_pairs(0, 30, n, wanted, skip, seed);
        EXPECT_EQ(exact_ranks(queries, gallery, pairs, skip),
                  sorted_ranks(queries, gallery, pairs, skip))
            << n << " items, " << wanted << " wanted";
      }
    }
  }
}

TEST_P(EveryCpu, AgreesWithSortingWhereRoundingMatters) {
  // Near duplicates: their similarities differ by a few units of rounding.
  const Tensor centre = normalize_rows(random_normal({1, 96}, 1, at::kFloat));
  const Tensor gallery =
      normalize_rows(centre + 1e-6 * random_normal({500, 96}, 2, at::kFloat));
  const Tensor queries = gallery.slice(0, 0, 40).contiguous();
  const Tensor self = torch::arange(40, torch::kLong);
  for (const int64_t wanted : {3, 100}) {
    const RankedPairs pairs = random_pairs(0, 40, 500, wanted, self, 3);
    EXPECT_EQ(exact_ranks(queries, gallery, pairs, self),
              sorted_ranks(queries, gallery, pairs, self));
  }
}

TEST_P(EveryCpu, BothWaysAgreesWithOneWay) {
  // More than one square block, and copies of some items.
  const int64_t n = 4500;
  Tensor rows = normalize_rows(random_normal({n, 8}, 5, at::kFloat));
  rows.slice(0, 4000, 4200).copy_(rows.slice(0, 100, 300));
  const Tensor self = torch::arange(n, torch::kLong);
  for (const int64_t wanted : {4, 80}) {
    RankedPairs pairs;
    for (int64_t q = 0; q < n; ++q) {
      for (int64_t i = 0; i < wanted; ++i) {
        pairs.items.push_back((q + 1 + 53 * i) % n);
      }
      pairs.offsets.push_back(static_cast<int64_t>(pairs.items.size()));
    }
    const Rows same(rows);
    EXPECT_EQ(exact_ranks(same, same, pairs, self),
              exact_ranks(Rows(rows), Rows(rows.clone()), pairs, self));
  }
}

/// Several tiles of a gallery, and runs of items of every length. Bits do not
/// depend on the other pairs.
TEST_P(EveryCpu, HasExactSimilaritiesInAnyCompany) {
  for (const int64_t dim : {500, 515}) {
    const Tensor queries = random_normal({6, dim}, 1, at::kFloat);
    const Tensor gallery = random_normal({900, dim}, 2, at::kFloat);
    const Tensor expected =
        torch::mm(queries.to(at::kDouble), gallery.to(at::kDouble).t());
    const RankedPairs many = pairs_where(
        6, 900, [](int64_t q, int64_t i) { return i % (q + 1) == 0; });
    RankedPairs falling = many;
    for (size_t q = 0; q < 6; ++q) {
      std::reverse(falling.items.begin() + falling.offsets[q],
                   falling.items.begin() + falling.offsets[q + 1]);
    }
    std::vector<float> found;
    std::vector<float> backwards;
    pair_similarities(queries, gallery, many, found);
    pair_similarities(queries, gallery, falling, backwards);
    ASSERT_EQ(found.size(), many.items.size());
    for (size_t q = 0; q < 6; ++q) {
      for (int64_t p = many.offsets[q]; p < many.offsets[q + 1]; ++p) {
        const auto at = static_cast<size_t>(p);
        const auto mirror =
            static_cast<size_t>(many.offsets[q] + many.offsets[q + 1] - 1 - p);
        EXPECT_EQ(found[at], backwards[mirror]);
        const double truth =
            expected[static_cast<int64_t>(q)][many.items[at]].item<double>();
        EXPECT_NEAR(found[at], truth, 1e-7 * (1 + std::abs(truth)));
      }
    }
    // One at a time, with the same bits.
    std::vector<float> alone;
    const RankedPairs one =
        pairs_where(6, 900, [](int64_t q, int64_t i) { return i == 60 * q; });
    pair_similarities(queries, gallery, one, alone);
    for (size_t q = 0; q < 6; ++q) {
      const auto* begin = many.items.data() + many.offsets[q];
      const auto* end = many.items.data() + many.offsets[q + 1];
      const auto* same = std::find(begin, end, one.items[q]);
      ASSERT_NE(same, end);
      EXPECT_EQ(alone[q], found[static_cast<size_t>(same - many.items.data())]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, EveryCpu, ::testing::ValuesIn(cpu_levels()),
                         [](const auto& param_info) {
                           return name_of(param_info.param);
                         });

TEST(ExactRanks, ARunOfQueriesAndTinyBlocksGiveTheSame) {
  const Tensor queries = normalize_rows(random_normal({60, 7}, 1, at::kFloat));
  const Tensor gallery =
      normalize_rows(random_normal({5000, 7}, 2, at::kFloat));
  const RankedPairs pairs = random_pairs(20, 30, 5000, 9, {}, 3);
  const std::vector<int64_t> expected =
      sorted_ranks(queries, gallery, pairs, {});
  for (const int64_t memory_mb : {0, 1, 4, 512}) {
    EXPECT_EQ(exact_ranks(queries, gallery, pairs, {}, {memory_mb}), expected)
        << memory_mb;
  }
}

TEST(ExactRanks, RowsOfAFileGiveTheSame) {
  const TempDir folder;
  const Tensor queries = random_normal({50, 16}, 1, at::kFloat) * 3;
  const Tensor gallery = random_normal({9000, 16}, 2, at::kFloat) * 2;
  save_npy(folder.file("q.npy"), queries);
  save_npy(folder.file("g.npy"), gallery);
  const RankedPairs pairs = random_pairs(0, 50, 9000, 6, {}, 3);
  const Rows streamed_queries = unit_rows(folder.file("q.npy"), 0, at::kCPU);
  const Rows streamed_gallery = unit_rows(folder.file("g.npy"), 0, at::kCPU);
  EXPECT_FALSE(streamed_gallery.in_memory().defined());
  EXPECT_EQ(exact_ranks(streamed_queries, streamed_gallery, pairs, {}, {1}),
            sorted_ranks(normalize_rows(queries), normalize_rows(gallery),
                         pairs, {}));
}

TEST(ExactRanks, NothingWanted) {
  const Tensor x = torch::ones({3, 2});
  RankedPairs pairs;
  EXPECT_TRUE(exact_ranks(x, x, pairs, {}).empty());
  pairs.offsets = {0, 0, 0, 0};
  EXPECT_TRUE(exact_ranks(x, x, pairs, {}).empty());
}

TEST(ExactRanks, RefusesOtherDimensions) {
  RankedPairs pairs;
  EXPECT_THROW(exact_ranks(torch::ones({2, 3}), torch::ones({2, 4}), pairs, {}),
               c10::ValueError);
}

TEST(ExactRanks, RefusesAnItemToExcludeThatIsNotThere) {
  const Tensor x = torch::eye(3);
  expect_error<c10::ValueError>(
      [&] {
        exact_ranks(x, x, {}, torch::tensor({0, 3, 1}, torch::kLong));
      },
      "items to exclude", "0 to 2", "got 3 for query 1");
}

/// Enough queries for split products, where there are as many numbers.
void expect_same_on_gpu(const Tensor& queries, const Tensor& gallery,
                        int64_t wanted, int64_t memory_mb = 512) {
  const int64_t q = queries.size(0);
  const int64_t n = gallery.size(0);
  SCOPED_TRACE(std::to_string(n) + " items of " +
               std::to_string(gallery.size(1)) + ", " + std::to_string(wanted) +
               " wanted");
  Tensor exclude = torch::arange(q, torch::kLong).remainder(n);
  exclude.slice(0, 0, q, 3).fill_(-1);
  for (const Tensor& skip : {Tensor(), exclude}) {
    const RankedPairs pairs = random_pairs(0, q, n, wanted, skip, 3);
    EXPECT_EQ(
        exact_ranks(queries.cuda(), gallery.cuda(), pairs, skip, {memory_mb}),
        exact_ranks(queries, gallery, pairs, skip));
  }
}

TEST(ExactRanks, CudaGivesTheSame) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  Tensor gallery = normalize_rows(random_normal({20000, 64}, 2, at::kFloat));
  gallery.slice(0, 5000, 6000).copy_(gallery.slice(0, 0, 1000));
  const Tensor queries = gallery.slice(0, 0, 700).contiguous();
  for (const int64_t wanted : {1, 3, 16, 40, 2048, 3000}) {
    expect_same_on_gpu(queries, gallery, wanted);
  }
  expect_same_on_gpu(queries, gallery, 5, /*memory_mb=*/1);
}

TEST(ExactRanks, CudaGivesTheSameForAllDimensions) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const int64_t dim : {1, 7, 33, 512, 2048}) {
    const Tensor queries = random_normal({520, dim}, 1, at::kFloat);
    for (const int64_t items : {3, 2051}) {
      const Tensor gallery = random_normal({items, dim}, 2, at::kFloat);
      for (const int64_t wanted : {3, 100}) {
        expect_same_on_gpu(queries, gallery, wanted);
      }
    }
  }
}

// All items of a query wait for their exact similarities, again and again.
TEST(ExactRanks, CudaGivesTheSameWhereAllIsClose) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const Tensor ties = random_integers({9000, 40}, 1, 1);
  const Tensor copies = random_normal({1, 40}, 2, at::kFloat).repeat({9000, 1});
  const Tensor near = copies + 1e-6 * random_normal({9000, 40}, 3, at::kFloat);
  const Tensor lengths = torch::logspace(-9, 9, 9000).unsqueeze(1);
  const Tensor queries = random_normal({520, 40}, 4, at::kFloat);
  for (const Tensor& gallery :
       {ties, copies, near.contiguous(), (ties * lengths).contiguous()}) {
    for (const int64_t wanted : {2, 12, 60, 2500}) {
      expect_same_on_gpu(queries, gallery, wanted);
    }
    expect_same_on_gpu(gallery.slice(0, 0, 600).contiguous(), gallery, 4);
  }
}

TEST(ExactRanks, CudaGivesTheSameForAFile) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const TempDir folder;
  const Tensor queries = random_normal({600, 48}, 1, at::kFloat);
  const Tensor gallery = random_normal({9000, 48}, 2, at::kFloat);
  save_npy(folder.file("q.npy"), queries);
  save_npy(folder.file("g.npy"), gallery);
  const RankedPairs pairs = random_pairs(0, 600, 9000, 6, {}, 3);
  const auto ranks = [&](at::Device device) {
    return exact_ranks(unit_rows(folder.file("q.npy"), 0, device),
                       unit_rows(folder.file("g.npy"), 0, device), pairs, {},
                       {1});
  };
  EXPECT_EQ(ranks(at::kCUDA), ranks(at::kCPU));
}

}  // namespace
}  // namespace kith
