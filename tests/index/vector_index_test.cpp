#include "kith/index/vector_index.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/kinds.h"
#include "kith/index/recall.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

Tensor units(int64_t n, int64_t d, uint64_t seed) {
  return normalize_rows(random_normal({n, d}, seed, at::kFloat));
}

std::unique_ptr<VectorIndex> make_exact(int64_t dim) {
  return std::make_unique<ExactIndex>(dim);
}

TEST(ExactIndex, FindsWhatExactSearchFinds) {
  const Tensor x = units(300, 16, 1);
  const Tensor queries = units(20, 16, 2);
  const auto index = make_exact(16);
  EXPECT_TRUE(index->exact());
  EXPECT_EQ(index->search(queries, 5).indices.size(1), 0);
  for (int64_t i = 0; i < 300; i += 70) index->add(x.slice(0, i, i + 70));
  EXPECT_EQ(index->count(), 300);
  SearchOptions options;
  options.k = 7;
  const Neighbours expected = exact_search(queries, x, {}, options);
  const Neighbours found = index->search(queries, 7);
  EXPECT_TRUE(same_bits(found.indices, expected.indices));
  EXPECT_TRUE(same_bits(found.similarities, expected.similarities));
  EXPECT_EQ(index->search(queries, 1000).indices.size(1), 300);
}

/// Where it is loaded, and the memory it may take: all of it, or a block.
struct Place {
  c10::Device device = at::kCPU;
  int64_t memory_mb = 0;
};

std::vector<Place> places() {
  std::vector<Place> all = {{at::kCPU, 1}, {at::kCPU, 0}};
  if (torch::cuda::is_available()) {
    all.insert(all.end(), {{at::kCUDA, 1}, {at::kCUDA, 0}});
  }
  return all;
}

TEST(ExactIndex, IsTheSameFromAFileInMemoryOrInBlocks) {
  const TempDir folder;
  const std::string path = folder.file("a.faiss");
  const Tensor x = units(90, 8, 3);
  const Tensor more = units(20, 8, 4);
  const Tensor queries = units(10, 8, 5);
  const auto made = make_exact(8);
  made->add(x);
  made->save(path);
  made->add(more);
  const Neighbours expected = made->search(queries, 30);
  for (const auto& [device, memory_mb] : places()) {
    const auto index = load_vector_index(path, memory_mb, device);
    EXPECT_EQ(index->rows().in_memory().defined(), memory_mb == 1);
    EXPECT_EQ(index->rows().device().type(), device.type());
    EXPECT_TRUE(index->exact());
    index->add(more.slice(0, 0, 5));
    index->add(more.slice(0, 5, 20));
    EXPECT_EQ(index->count(), 110);
    const Neighbours found = index->search(queries, 30);
    EXPECT_TRUE(same_bits(found.indices, expected.indices));
    EXPECT_TRUE(same_bits(found.similarities, expected.similarities));
    EXPECT_TRUE(same_bits(index->rows().read(85, 15).cpu(),
                          torch::cat({x, more}).slice(0, 85, 100)));
    EXPECT_TRUE(
        same_bits(index->rows().read(95, 5).cpu(), more.slice(0, 5, 10)));
    const std::string other = folder.file("b.faiss");
    index->save(other);
    EXPECT_TRUE(same_bits(load_vector_index(other)->search(queries, 30).indices,
                          expected.indices));
  }
}

TEST(ExactIndex, LeavesRowsThatAreNotInMemoryWhereTheyAre) {
  const TempDir folder;
  const std::string path = folder.file("a.faiss");
  const Tensor x = units(60, 8, 3);
  const Tensor queries = units(10, 8, 5);
  int64_t most = 0;
  const auto part = [&](int64_t begin, int64_t end) {
    return rows_from(end - begin, 8, [&, begin](int64_t first, int64_t rows) {
      most = std::max(most, rows);
      return x.slice(0, begin + first, begin + first + rows);
    });
  };
  const auto whole = make_exact(8);
  whole->add(x);
  const auto index = make_exact(8);
  index->add_rows(part(0, 30));
  EXPECT_EQ(most, 0) << "none is read before it is needed";
  index->add_rows(part(30, 50));
  index->add_rows(x.slice(0, 50, 60));
  EXPECT_EQ(index->count(), 60);
  EXPECT_TRUE(same_bits(index->search(queries, 20).indices,
                        whole->search(queries, 20).indices));
  EXPECT_TRUE(same_bits(index->rows().read(25, 30), x.slice(0, 25, 55)));
  index->save(path);
  EXPECT_TRUE(same_bits(load_vector_index(path)->rows().in_memory(), x));
  EXPECT_THROW(index->add_rows(units(3, 7, 1)), c10::ValueError);
}

TEST(ExactIndex, IsSavedOverTheFileItReads) {
  const TempDir folder;
  const std::string path = folder.file("a.faiss");
  const Tensor x = units(30, 4, 1);
  const auto made = make_exact(4);
  made->add(x.slice(0, 0, 20));
  made->save(path);
  const auto index = load_vector_index(path, 0);
  index->save(path);
  EXPECT_EQ(load_vector_index(path)->count(), 20);
  index->add(x.slice(0, 20, 30));
  index->save(path);
  EXPECT_TRUE(same_bits(load_vector_index(path)->rows().in_memory(), x));
  EXPECT_EQ(index->count(), 30);
}

TEST(ExactIndex, RefusesWhatAreNoVectorsOfIt) {
  const auto index = make_exact(4);
  EXPECT_THROW(index->add(torch::ones({2, 3})), c10::ValueError);
  EXPECT_THROW(index->add(torch::ones({4})), c10::ValueError);
  EXPECT_THROW(index->add(torch::ones({2, 4}, at::kDouble)), c10::ValueError);
  EXPECT_THROW(index->add(torch::full({2, 4}, INFINITY)), c10::ValueError);
  EXPECT_THROW(index->search(torch::ones({2, 3}), 1), c10::ValueError);
  EXPECT_EQ(index->count(), 0);
}

TEST(VectorIndex, LoadNamesTheFile) {
  const TempDir folder;
  expect_error<DataError>([&] { load_vector_index(folder.file("none")); },
                          folder.file("none"));
  const std::string path = folder.write("text",
                                        "no index at all, but a text "
                                        "that is long enough to be it");
  expect_error<DataError>([&] { load_vector_index(path); }, path, "IndexFlatIP",
                          "IndexHNSWFlat");
}

TEST(DrawPositions, AreDifferentRisingAndTheSameForASeed) {
  const auto some = draw_positions(1000, 50, 3);
  ASSERT_EQ(some.size(), 50u);
  for (size_t i = 1; i < some.size(); ++i) EXPECT_LT(some[i - 1], some[i]);
  EXPECT_GE(some.front(), 0);
  EXPECT_LT(some.back(), 1000);
  EXPECT_EQ(some, draw_positions(1000, 50, 3));
  EXPECT_NE(some, draw_positions(1000, 50, 4));
  EXPECT_EQ(draw_positions(3, 50, 3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(draw_positions(0, 50, 3).empty());
}

/// Finds what another finds, without the nearest one in every odd query.
class Forgetful final : public VectorIndex {
 public:
  explicit Forgetful(std::unique_ptr<VectorIndex> index)
      : index_(std::move(index)) {}
  int64_t count() const override { return index_->count(); }
  int64_t dim() const override { return index_->dim(); }
  void add(const Tensor&) override {}
  void save(const std::string&) const override {}
  Neighbours search(const Tensor& queries, int64_t k) const override {
    Neighbours found = index_->search(queries, k + 1);
    for (int64_t i = 1; i < queries.size(0); i += 2) {
      found.indices[i].slice(0, 1, k).copy_(
          found.indices[i].slice(0, 2, k + 1).clone());
    }
    return {found.indices.slice(1, 0, k), found.similarities.slice(1, 0, k)};
  }

 private:
  std::unique_ptr<VectorIndex> index_;
};

TEST(MeasureRecall, CountsTheNearestThatAreFound) {
  const Tensor x = units(100, 8, 1);
  auto index = make_exact(8);
  index->add(x);
  const auto exact = measure_recall(*index, x);
  EXPECT_EQ(exact, (std::map<std::string, double>{{"1@1", 1}, {"10@10", 1}}));
  // Queries are the rows, and the first that each finds is itself.
  const auto found = measure_recall(Forgetful(std::move(index)), x);
  EXPECT_NEAR(found.at("1@1"), 0.5, 1e-9);
  EXPECT_NEAR(found.at("10@10"), 0.95, 1e-9);
}

TEST(MeasureRecall, LeavesOutWhatCannotBeMeasured) {
  auto index = make_exact(8);
  index->add(units(5, 8, 1));
  EXPECT_EQ(measure_recall(*index, units(5, 8, 1)).size(), 1u);
  EXPECT_TRUE(measure_recall(*make_exact(8), torch::empty({0, 8})).empty());
  EXPECT_THROW(measure_recall(*index, units(6, 8, 1)), c10::ValueError);
}

}  // namespace
}  // namespace kith
