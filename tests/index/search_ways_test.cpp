#include "kith/index/search_ways.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// The similarities of all pairs in double, rounded once, [Q, N].
Tensor all_similarities(const Tensor& queries, const Tensor& gallery) {
  return torch::mm(queries.to(torch::kDouble), gallery.to(torch::kDouble).t())
      .to(torch::kFloat);
}

/// A stable sort of the whole gallery: of integers, whose sums are exact in any
/// order.
Neighbours sorted_all(const Tensor& queries, const Tensor& gallery,
                      const Tensor& excluded, int64_t k) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  Tensor s = all_similarities(queries, gallery);
  if (excluded.defined()) {
    const Tensor own = excluded.clamp_min(0).unsqueeze(1);
    s.scatter_(
        1, own,
        s.gather(1, own).masked_fill((excluded >= 0).unsqueeze(1), kNone));
  }
  const auto [similarity, order] =
      s.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  k = std::min(k, gallery.size(0));
  const Tensor nearest = similarity.slice(1, 0, k);
  return {order.slice(1, 0, k).masked_fill(nearest == kNone, -1), nearest};
}

void expect_same(const Neighbours& a, const Neighbours& b) {
  EXPECT_TRUE(torch::equal(a.indices, b.indices));
  EXPECT_TRUE(
      same_bits(a.similarities.contiguous(), b.similarities.contiguous()));
}

/// The selection against the candidates, by the CPU's kernels.
void expect_same_ways(const Tensor& queries, const Tensor& gallery,
                      const Tensor& excluded, const SearchOptions& options) {
  const Neighbours selected =
      search_in_way(SearchWay::kSelection, queries, gallery, excluded, options);
  const Neighbours candidates = search_in_way(SearchWay::kCandidates, queries,
                                              gallery, excluded, options);
  expect_same(selected, candidates);
}

/// For every query an item to exclude, or none for every third.
Tensor some_excluded(int64_t queries, int64_t items) {
  Tensor excluded = torch::arange(queries, torch::kLong).remainder(items);
  excluded.slice(0, 0, queries, 3).fill_(-1);
  return excluded;
}

TEST(SelectionSearch, AgreesWithSortingEverythingDespiteTies) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto n = static_cast<int64_t>(1 + 57 * seed);
    const Tensor gallery = random_integers({n, 3}, 2, seed);
    const Tensor queries = random_integers({17, 3}, 2, 1000 + seed);
    const Tensor excluded = some_excluded(17, n);
    for (const int64_t k : {int64_t{1}, int64_t{2}, int64_t{10}, n}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " k " + std::to_string(k));
      for (const Tensor& without : {Tensor(), excluded}) {
        expect_same(search_in_way(SearchWay::kSelection, queries, gallery,
                                  without, {k}),
                    sorted_all(queries, gallery, without, k));
        expect_same_ways(queries, gallery, without, {k});
      }
    }
  }
}

TEST(SelectionSearch, AgreesForAllDimensions) {
  for (const int64_t dim : {1, 7, 8, 100, 512}) {
    const Tensor gallery = random_normal({700, dim}, 1, at::kFloat);
    const Tensor queries = random_normal({40, dim}, 2, at::kFloat);
    for (const int64_t k : {1, 10, 300, 700}) {
      SCOPED_TRACE("dim " + std::to_string(dim) + " k " + std::to_string(k));
      expect_same_ways(queries, gallery, {}, {k});
    }
  }
}

// 1 MB cuts the gallery into blocks of 256 items, and with such a k the queries
// into two runs.
TEST(SelectionSearch, AgreesForManyBlocksAndRuns) {
  const Tensor gallery = random_normal({1501, 16}, 1, at::kFloat);
  const Tensor queries = random_normal({1100, 16}, 2, at::kFloat);
  const Tensor excluded = some_excluded(1100, 1501);
  for (const int64_t k : {1, 10, 500}) {
    SCOPED_TRACE("k " + std::to_string(k));
    expect_same_ways(queries, gallery, excluded, {k, /*memory_mb=*/1});
  }
}

// Read a block at a time, whose rows have lengths of their own.
TEST(SelectionSearch, AgreesForAGalleryInAFile) {
  Tensor gallery = random_normal({3000, 64}, 1, at::kFloat);
  gallery.slice(0, 1000, 2000).mul_(100);
  const Rows rows =
      rows_from(3000, 64, [gallery](int64_t first, int64_t count) {
        return gallery.narrow(0, first, count).clone();
      });
  const Tensor queries = random_normal({50, 64}, 2, at::kFloat);
  const SearchOptions options{20, /*memory_mb=*/1};
  expect_same(
      search_in_way(SearchWay::kSelection, queries, rows, {}, options),
      search_in_way(SearchWay::kCandidates, queries, gallery, {}, options));
}

TEST(SelectionSearch, CopiesOfAnItemAreTiesWhereverTheyStand) {
  const Tensor gallery =
      random_normal({1, 129}, 1, at::kFloat).repeat({5000, 1});
  const Tensor queries = random_normal({30, 129}, 2, at::kFloat);
  const Neighbours found =
      search_in_way(SearchWay::kSelection, queries, gallery, {}, {100});
  EXPECT_TRUE(
      (found.indices == torch::arange(100, torch::kLong)).all().item<bool>());
}

TEST(SelectionSearch, FindsNothingInNothing) {
  const Neighbours found = search_in_way(
      SearchWay::kSelection, torch::ones({3, 2}), torch::ones({0, 2}), {}, {4});
  EXPECT_EQ(found.indices.sizes(), (std::vector<int64_t>{3, 0}));
}

TEST(TopkSearch, AgreesDespiteTies) {
  const Tensor gallery = random_integers({2000, 4}, 3, 1);
  const Tensor queries = gallery.slice(0, 0, 2000, 60).contiguous();
  const Tensor excluded = torch::arange(0, 2000, 60, torch::kLong);
  for (const int64_t k : {3, 1500, 2000}) {
    SCOPED_TRACE("k " + std::to_string(k));
    expect_same(
        search_in_way(SearchWay::kTopk, queries, gallery, excluded, {k, 1}),
        sorted_all(queries, gallery, excluded, k));
  }
}

/// In several blocks, with items to exclude, which count too.
TEST(ExactSearch, SaysWhatIsFarthest) {
  const Tensor gallery = random_integers({3000, 7}, 3, 1);
  const Tensor queries = random_integers({40, 7}, 3, 2);
  const Tensor expected =
      std::get<0>(all_similarities(queries, gallery).min(1));
  const Tensor excluded = some_excluded(40, 3000);
  const SearchOptions options{.k = 5, .memory_mb = 1, .farthest = true};
  const Neighbours plain =
      exact_search(queries, gallery, excluded, {5, /*memory_mb=*/1});
  EXPECT_FALSE(plain.farthest.defined());
  for (const Neighbours& found :
       {exact_search(queries, gallery, excluded, options),
        search_in_way(SearchWay::kSelection, queries, gallery, excluded,
                      options)}) {
    expect_same(found, plain);
    EXPECT_TRUE(torch::equal(found.farthest, expected));
  }
}

TEST(ExactSearch, SaysWhatIsFarthestOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (const int64_t dim : {7, 96}) {
    Tensor items = random_normal({5003, dim}, 3, at::kFloat);
    items.slice(0, 4000, 4500).copy_(items.slice(0, 100, 600));
    for (const int64_t k : {20, 1500}) {
      const SearchOptions options{.k = k, .memory_mb = 8, .farthest = true};
      const Tensor own = torch::arange(5003, torch::kLong);
      const Neighbours found =
          exact_search(items.cuda(), items.cuda(), own, options);
      const Neighbours expected = exact_search(items, items, own, options);
      expect_same(found, expected);
      EXPECT_TRUE(torch::equal(found.farthest, expected.farthest));
    }
  }
}

/// On the GPU, by the way that exact_search() takes.
void expect_same_on_gpu(const Tensor& queries, const Tensor& gallery,
                        const Tensor& excluded, const SearchOptions& options) {
  SCOPED_TRACE("items " + std::to_string(gallery.size(0)) + " dim " +
               std::to_string(gallery.size(1)) + " k " +
               std::to_string(options.k) + " memory " +
               std::to_string(options.memory_mb));
  expect_same(exact_search(queries.cuda(), gallery.cuda(), excluded, options),
              search_in_way(SearchWay::kCandidates, queries, gallery, excluded,
                            options));
}

TEST(SelectionSearch, CudaAgreesWithTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (const int64_t dim : {1, 7, 8, 33, 512, 2048}) {
    const Tensor gallery = random_normal({5000, dim}, 1, at::kFloat);
    const Tensor queries = random_normal({520, dim}, 2, at::kFloat);
    for (const int64_t k : {1, 10, 100, 256, 257, 300, 1000, 1024, 1025}) {
      expect_same_on_gpu(queries, gallery, {}, {k});
    }
  }
  const Tensor items = random_normal({5003, 96}, 3, at::kFloat);
  const Tensor excluded = some_excluded(5003, 5003);
  for (const int64_t k : {1, 10, 100, 300, 1000}) {
    expect_same_on_gpu(items, items, excluded, {k});
    expect_same_on_gpu(items, items, excluded, {k, /*memory_mb=*/1});
  }
  for (const int64_t n : {1, 2, 3, 4, 5, 1021, 1026}) {
    const Tensor few = items.narrow(0, 0, n);
    for (const int64_t k : {int64_t{1}, n}) {
      expect_same_on_gpu(few, few, some_excluded(n, n), {k});
    }
  }
}

// More equal similarities than a block of threads lists at a time, and blocks
// whose items are all nearer than those before.
TEST(SelectionSearch, CudaAgreesWhenItsListRunsOver) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const Tensor queries = random_integers({50, 4}, 3, 1);
  const Tensor ties = random_integers({20000, 4}, 1, 2);
  const Tensor copies = random_normal({1, 4}, 3, at::kFloat).repeat({20000, 1});
  const Tensor rising =
      torch::arange(1, 20001, at::kFloat).unsqueeze(1).repeat({1, 4});
  const Tensor excluded = some_excluded(50, 20000);
  for (const Tensor& gallery : {ties, copies, rising}) {
    for (const int64_t k : {1, 10, 1000}) {
      expect_same_on_gpu(queries, gallery, excluded, {k});
      expect_same_on_gpu(queries, gallery, excluded, {k, /*memory_mb=*/1});
    }
  }
}

// The same with products that are split, and what they are bad at.
TEST(SelectionSearch, CudaAgreesWhereAllIsClose) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const Tensor queries = random_normal({520, 40}, 1, at::kFloat);
  const Tensor ties = random_integers({9000, 40}, 1, 2);
  const Tensor copies = random_normal({1, 40}, 3, at::kFloat).repeat({9000, 1});
  const Tensor near = copies + 1e-6 * random_normal({9000, 40}, 4, at::kFloat);
  const Tensor lengths = torch::logspace(-9, 9, 9000).unsqueeze(1);
  const Tensor excluded = some_excluded(520, 9000);
  for (const Tensor& gallery :
       {ties, copies, near, ties * lengths, ties * lengths.flip(0)}) {
    for (const int64_t k : {1, 10, 1000}) {
      expect_same_on_gpu(queries, gallery.contiguous(), excluded, {k});
      expect_same_on_gpu(queries, gallery.contiguous(), excluded,
                         {k, /*memory_mb=*/1});
    }
  }
}

TEST(SelectionSearch, CudaAgreesForAGalleryInAFile) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const Tensor gallery = random_normal({9000, 48}, 1, at::kFloat);
  const Tensor queries = random_normal({600, 48}, 2, at::kFloat);
  const Rows rows =
      rows_from(9000, 48, [gallery](int64_t first, int64_t count) {
        return gallery.narrow(0, first, count).clone();
      });
  expect_same(exact_search(queries.cuda(), rows.on(at::kCUDA), {}, {20, 1}),
              exact_search(queries, gallery, {}, {20}));
}

}  // namespace
}  // namespace kith
