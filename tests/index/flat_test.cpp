#include "kith/index/flat.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Lists = std::vector<std::vector<int64_t>>;

Lists rows_of(const Tensor& indices) {
  const auto view = indices.accessor<int64_t, 2>();
  Lists rows(static_cast<size_t>(indices.size(0)));
  for (int64_t i = 0; i < indices.size(0); ++i) {
    for (int64_t j = 0; j < indices.size(1); ++j) {
      rows[static_cast<size_t>(i)].push_back(view[i][j]);
    }
  }
  return rows;
}

/// All similarities in double, then a stable sort of the whole gallery.
Lists reference(const Tensor& queries, const Tensor& gallery,
                const Tensor& exclude, int64_t k) {
  const Tensor s =
      torch::mm(queries.to(torch::kDouble), gallery.to(torch::kDouble).t());
  const auto similarity = s.accessor<double, 2>();
  Lists rows;
  for (int64_t q = 0; q < queries.size(0); ++q) {
    std::vector<int64_t> order(static_cast<size_t>(gallery.size(0)));
    std::iota(order.begin(), order.end(), 0);
    if (exclude.defined()) {
      std::erase(order, exclude.accessor<int64_t, 1>()[q]);
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return similarity[q][a] > similarity[q][b];
    });
    order.resize(static_cast<size_t>(std::min(k, gallery.size(0))), -1);
    rows.push_back(order);
  }
  return rows;
}

TEST(ExactSearch, AgreesWithSortingEverythingDespiteTies) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto n = static_cast<int64_t>(20 + 31 * seed);
    const Tensor gallery = random_integers({n, 3}, 2, seed);
    const Tensor queries = random_integers({17, 3}, 2, 1000 + seed);
    for (int64_t k : {int64_t{1}, int64_t{2}, int64_t{10}, n}) {
      const Neighbours found = exact_search(queries, gallery, {}, {k});
      EXPECT_EQ(rows_of(found.indices), reference(queries, gallery, {}, k))
          << "seed " << seed << " k " << k;
    }
  }
}

TEST(ExactSearch, SimilaritiesBelongToTheIndices) {
  const Tensor gallery = random_normal({300, 16}, 1, at::kFloat);
  const Tensor queries = random_normal({9, 16}, 2, at::kFloat);
  const Neighbours found = exact_search(queries, gallery, {}, {25});
  const Tensor all =
      torch::mm(queries.to(torch::kDouble), gallery.to(torch::kDouble).t());
  EXPECT_LE(max_difference(found.similarities, all.gather(1, found.indices)),
            1e-5);
  EXPECT_TRUE(
      (found.similarities.slice(1, 1) <= found.similarities.slice(1, 0, -1))
          .all()
          .item<bool>());
  EXPECT_EQ(rows_of(found.indices), reference(queries, gallery, {}, 25));
}

// Items 0, 2 and 3 are the same vector: each finds the other two, never itself.
TEST(ExactSearch, SelfIsExcludedByIndexNotByValue) {
  const Tensor x =
      torch::tensor({1.f, 0.f, 0.f, 1.f, 1.f, 0.f, 1.f, 0.f}).view({4, 2});
  const Neighbours found =
      exact_search(x, x, torch::arange(4, torch::kLong), {3});
  EXPECT_EQ(rows_of(found.indices),
            (Lists{{2, 3, 1}, {0, 2, 3}, {0, 3, 1}, {0, 2, 1}}));
}

// A float32 matrix product gives copies of a vector similarities that differ in
// the last digit, depending on their place and on the number of queries.
TEST(ExactSearch, CopiesOfAnItemAreTiesWhereverTheyStand) {
  for (int64_t d : {16, 64, 128, 129, 512}) {
    for (int64_t n : {7, 50, 1001}) {
      const Tensor gallery =
          random_normal({1, d}, 1, at::kFloat).repeat({n, 1});
      const Tensor queries = random_normal({130, d}, 2, at::kFloat);
      for (int64_t q : {1, 3, 130}) {
        const Neighbours found =
            exact_search(queries.narrow(0, 0, q), gallery, {}, {n});
        EXPECT_TRUE((found.indices == torch::arange(n, torch::kLong))
                        .all()
                        .item<bool>())
            << d << " " << n << " " << q;
      }
    }
  }
}

TEST(ExactSearch, ExclusionIsPerQueryAndOptional) {
  const Tensor x = random_integers({60, 3}, 2, 5);
  Tensor exclude = torch::arange(60, torch::kLong);
  exclude.slice(0, 0, 60, 3).fill_(-1);
  EXPECT_EQ(rows_of(exact_search(x, x, exclude, {7}).indices),
            reference(x, x, exclude, 7));
}

TEST(ExactSearch, KIsCutToTheGallery) {
  const Tensor x = random_integers({5, 3}, 2, 1);
  const Neighbours all = exact_search(x, x, {}, {100});
  EXPECT_EQ(all.indices.sizes(), (std::vector<int64_t>{5, 5}));
  const Neighbours others =
      exact_search(x, x, torch::arange(5, torch::kLong), {100});
  ASSERT_EQ(others.indices.sizes(), (std::vector<int64_t>{5, 5}));
  EXPECT_TRUE((others.indices.select(1, 4) == -1).all().item<bool>());
  EXPECT_TRUE((others.similarities.select(1, 4) ==
               -std::numeric_limits<float>::infinity())
                  .all()
                  .item<bool>());
  EXPECT_EQ(rows_of(others.indices),
            reference(x, x, torch::arange(5, torch::kLong), 5));
}

// A budget of 1 MB cuts the gallery into blocks of 256 items or so, the default
// one into blocks of up to 4096.
TEST(ExactSearch, ManyBlocksEqualOne) {
  const Tensor gallery = random_integers({9000, 4}, 3, 1);
  const Tensor queries = gallery.slice(0, 0, 9000, 60).contiguous();
  const Tensor exclude = torch::arange(0, 9000, 60, torch::kLong);
  for (int64_t k : {1, 50, 5000}) {
    SearchOptions tiny;
    tiny.k = k;
    tiny.memory_mb = 1;
    SearchOptions plenty;
    plenty.k = k;
    const Neighbours a = exact_search(queries, gallery, exclude, tiny);
    const Neighbours b = exact_search(queries, gallery, exclude, plenty);
    EXPECT_TRUE(torch::equal(a.indices, b.indices)) << k;
    EXPECT_TRUE(torch::equal(a.similarities, b.similarities)) << k;
    EXPECT_EQ(rows_of(a.indices), reference(queries, gallery, exclude, k));
  }
}

TEST(ExactSearch, OneQueryOneItem) {
  const Tensor x = random_integers({1, 3}, 2, 1);
  EXPECT_EQ(rows_of(exact_search(x, x, {}, {4}).indices), (Lists{{0}}));
  EXPECT_EQ(rows_of(exact_search(x, x, labels_of({0}), {4}).indices),
            (Lists{{-1}}));
  const Tensor gallery = random_integers({50, 3}, 2, 2);
  EXPECT_EQ(rows_of(exact_search(x, gallery, {}, {4}).indices),
            reference(x, gallery, {}, 4));
}

TEST(ExactSearch, NamesARowThatCannotBeCompared) {
  const std::pair<float, const char*> bad[] = {{NAN, "NaN"},
                                               {INFINITY, "infinite"},
                                               {1e20F, "1e+20"},
                                               {1e-25F, "1e-25"}};
  for (const auto& [value, word] : bad) {
    const Tensor good = torch::ones({40, 2});
    Tensor broken = good.clone();
    broken[31][0] = value;
    broken[31][1] = 0;
    expect_error<DataError>([&] { exact_search(good, broken, {}, {3}); },
                            "gallery item 31", word);
    expect_error<DataError>([&] { exact_search(broken, good, {}, {3}); },
                            "query 31", word);
  }
}

TEST(ExactSearch, ChecksItsArguments) {
  const Tensor x = torch::zeros({2, 3});
  EXPECT_THROW(exact_search(x, torch::zeros({2, 4}), {}, {1}), c10::ValueError);
  EXPECT_THROW(exact_search(x, torch::zeros({3}), {}, {1}), c10::ValueError);
  EXPECT_THROW(exact_search(x, x, {}, {0}), c10::ValueError);
  expect_error<c10::ValueError>(
      [&] { exact_search(x, x, torch::arange(1), {1}); }, "exclude",
      "int64 [2]");
  expect_error<c10::ValueError>(
      [&] { exact_search(x, x, torch::arange(2).to(torch::kInt), {1}); },
      "exclude", "int64 [2]");
  for (const int64_t beyond : {int64_t{2}, int64_t{-2}}) {
    expect_error<c10::ValueError>(
        [&] {
          exact_search(x, x, torch::tensor({int64_t{-1}, beyond}), {1});
        },
        "items to exclude", "0 to 1, or -1",
        "got " + std::to_string(beyond) + " for query 1");
  }
}

TEST(ExactSearch, CudaAgreesWithTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const Tensor gallery = random_integers({9000, 4}, 3, 1);
  const Tensor queries = gallery.slice(0, 0, 9000, 60).contiguous();
  const Tensor exclude = torch::arange(0, 9000, 60, torch::kLong);
  const Neighbours cpu = exact_search(queries, gallery, exclude, {50});
  const Neighbours gpu =
      exact_search(queries.cuda(), gallery.cuda(), exclude, {50});
  EXPECT_TRUE(torch::equal(cpu.indices, gpu.indices.cpu()));
}

}  // namespace
}  // namespace kith
