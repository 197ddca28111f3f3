// The kinds of index that faiss searches. Without faiss: that it is said.

#include <cmath>
#include <cstring>
#include <random>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/index/faiss_file.h"
#include "kith/index/faiss_index.h"
#include "kith/index/kinds.h"
#include "kith/index/recall.h"
#include "kith/index/stored_index.h"
#include "kith/ops/pairwise.h"
#include "tests/index/has_faiss.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr int64_t kDim = 16;

/// Unit vectors around a few centres, as embeddings of classes are.
Tensor clustered(int64_t n, uint64_t seed) {
  const Tensor centres = random_normal({20, kDim}, 99, at::kFloat);
  const Tensor noise = random_normal({n, kDim}, seed, at::kFloat);
  const Tensor which = torch::arange(n, torch::kLong).remainder(20);
  return normalize_rows(centres.index_select(0, which) + 0.5 * noise);
}

std::unique_ptr<VectorIndex> make(const IndexKind& kind, const Tensor& x) {
  auto index = kind.make({kDim, 3, x.size(0)});
  if (index->training_rows() > 0) {
    index->train(
        rows_at(x, draw_positions(x.size(0), index->training_rows(), 3)));
  }
  for (int64_t i = 0; i < x.size(0); i += 300) {
    index->add(x.slice(0, i, i + 300));
  }
  return index;
}

const IndexKind kHnsw =
    index_kind<HnswIndex>({.links = 8, .ef_construction = 40});
const IndexKind kIvfPq = index_kind<IvfPqIndex>(
    {.lists = 10, .subvectors = 8, .bits = 6, .probes = 4});

class Faiss : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_faiss()) GTEST_SKIP() << "kith is built without faiss";
  }

  TempDir folder_;
  std::string path_ = folder_.file("x.faiss");
  Tensor x_ = clustered(800, 1);
  Tensor queries_ = clustered(30, 2);
};

TEST(WithoutFaiss, TheErrorSaysHowToGetIt) {
  if (has_faiss()) GTEST_SKIP() << "kith is built with faiss";
  for (const IndexKind& kind : {kHnsw, kIvfPq}) {
    expect_error<ConfigError>([&] { make(kind, clustered(800, 1)); },
                              "libfaiss-dev", "KITH_WITH_FAISS", "exact");
  }
  const TempDir folder;
  const std::string path = folder.write("x", "IHNf and more");
  expect_error<DataError>([&] { load_vector_index(path); }, path,
                          "libfaiss-dev");
}

TEST_F(Faiss, FindsMostOfTheNearest) {
  const auto hnsw = measure_recall(*make(kHnsw, x_), x_);
  EXPECT_GT(hnsw.at("1@1"), 0.98);
  EXPECT_GT(hnsw.at("10@10"), 0.98);
  const auto codes = measure_recall(*make(kIvfPq, x_), x_);
  EXPECT_GT(codes.at("10@10"), 0.5);
  const auto finer = measure_recall(
      *make(index_kind<IvfPqIndex>({.subvectors = 16, .bits = 6, .probes = 20}),
            x_),
      x_);
  EXPECT_GT(finer.at("10@10"), 0.9);
}

TEST_F(Faiss, SimilaritiesAreInnerProducts) {
  const Neighbours found = make(kHnsw, x_)->search(queries_, 5);
  const Tensor expected = torch::mm(queries_, x_.t()).gather(1, found.indices);
  EXPECT_LT(max_difference(found.similarities, expected), 1e-5);
  const Neighbours codes = make(kIvfPq, x_)->search(queries_, 5);
  EXPECT_LT(
      max_difference(codes.similarities,
                     torch::mm(queries_, x_.t()).gather(1, codes.indices)),
      0.4);
}

TEST_F(Faiss, IsTheSameFromAFile) {
  for (const IndexKind& kind : {kHnsw, kIvfPq}) {
    const auto index = make(kind, x_);
    const Neighbours expected = index->search(queries_, 10);
    index->save(path_);
    const auto loaded = load_vector_index(path_);
    EXPECT_EQ(loaded->count(), 800);
    EXPECT_EQ(loaded->dim(), kDim);
    EXPECT_FALSE(loaded->exact());
    const Neighbours found = loaded->search(queries_, 10);
    EXPECT_TRUE(same_bits(found.indices, expected.indices)) << kind.name;
    EXPECT_TRUE(same_bits(found.similarities, expected.similarities));
  }
}

TEST_F(Faiss, IsTheSameWithMoreThreads) {
  const int threads = at::get_num_threads();
  const Tensor few = x_.slice(0, 0, 200);
  const IndexKind ivf_pq =
      index_kind<IvfPqIndex>({.lists = 2, .subvectors = 2, .bits = 4});
  for (const IndexKind& kind : {kHnsw, ivf_pq}) {
    make(kind, few)->save(path_);
    at::set_num_threads(2);
    make(kind, few)->save(folder_.file("again.faiss"));
    at::set_num_threads(threads);
    EXPECT_EQ(read_file(path_, 1 << 24),
              read_file(folder_.file("again.faiss"), 1 << 24));
  }
}

TEST_F(Faiss, ALoadedIndexGrows) {
  for (const IndexKind& kind : {kHnsw, kIvfPq}) {
    make(kind, x_)->save(path_);
    const auto index = load_vector_index(path_);
    index->add(queries_);
    EXPECT_EQ(index->count(), 830);
    index->save(path_);
    const auto grown = load_vector_index(path_)->search(queries_, 10);
    const Tensor own = torch::arange(800, 830, torch::kLong).unsqueeze(1);
    EXPECT_GT((grown.indices == own).any(1).sum().item<int64_t>(), 25);
  }
}

TEST_F(Faiss, HnswKeepsItsVectors) {
  const auto index = make(kHnsw, x_);
  EXPECT_TRUE(same_bits(index->rows().read(5, 100), x_.slice(0, 5, 105)));
  EXPECT_FALSE(make(kIvfPq, x_)->rows().defined());
}

TEST_F(Faiss, AsManyAreFoundAsAreAskedFor) {
  for (const IndexKind& kind : {kHnsw, kIvfPq}) {
    const auto index = make(kind, x_);
    const Neighbours found = index->search(queries_, 30);
    EXPECT_EQ(found.indices.size(1), 30);
    EXPECT_GE(found.indices.min().item<int64_t>(), 0) << kind.name;
    EXPECT_EQ(index->search(queries_, 5000).indices.size(1), 800);
    EXPECT_EQ(index->search(queries_.slice(0, 0, 0), 5).indices.size(0), 0);
  }
  const auto empty = kHnsw.make({kDim, 0, 0});
  EXPECT_EQ(empty->search(queries_, 5).indices.size(1), 0);
}

TEST_F(Faiss, AStoredIndexFindsAllOfAClassAndAll) {
  for (const std::string kind : {"hnsw", "ivf_pq"}) {
    std::vector<IndexItem> items;
    for (int64_t i = 0; i < 800; ++i) {
      items.push_back({std::to_string(i), i % 200 == 7 ? "few" : "many"});
    }
    StoredIndex index(make(kind == "hnsw" ? kHnsw : kIvfPq, x_), items,
                      {kind, "", "", {}, {}});
    index.save(path_);
    const StoredIndex opened = StoredIndex::open(path_);
    const auto hits = opened.search(queries_, 10, [&](int64_t position) {
      return opened.items().label(position) == "few";
    });
    for (const auto& row : hits) EXPECT_EQ(row.size(), 4u) << kind;
    const auto all = opened.search(queries_, 1000);
    for (const auto& row : all) EXPECT_EQ(row.size(), 800u) << kind;
    EXPECT_EQ(opened.vector(3).defined(), kind == "hnsw");
  }
}

TEST_F(Faiss, SettingsThatCannotBeAreRefused) {
  expect_error<ConfigError>(
      [&] { make(index_kind<IvfPqIndex>({.subvectors = 5}), x_); },
      "subvectors 5", "dimension 16", "; 4 does");
  expect_error<ConfigError>(
      [&] { make(index_kind<IvfPqIndex>(), x_.slice(0, 0, 200)); },
      "200 vectors", "256", "exact");
  expect_error<ConfigError>(
      [&] { make(index_kind<IvfPqIndex>({.lists = 900}), x_); }, "800 vectors",
      "900");
  expect_error<ConfigError>(
      [&] { make(index_kind<HnswIndex>({.links = 1}), x_); }, "links");
  IvfPqIndex untrained({}, {.dim = 16});
  expect_error<c10::ValueError>([&] { untrained.add(x_); }, "train()");
}

TEST_F(Faiss, DamageIsAnErrorOrAnotherIndex) {
  std::mt19937_64 random(11);
  const Tensor few = clustered(100, 4);
  int refused = 0;
  for (const IndexKind& kind :
       {kHnsw, index_kind<IvfPqIndex>({.lists = 3, .bits = 4})}) {
    make(kind, few)->save(path_);
    const std::string whole = read_file(path_, 1 << 24);
    for (int i = 0; i < 200; ++i) {
      // Every other time in front, where the sizes are.
      std::string bytes = damage(whole, random);
      if (i % 2 == 0)
        bytes = damage(whole.substr(0, 300), random) + whole.substr(300);
      try {
        const auto index = load_vector_index(folder_.write("y", bytes));
        index->search(queries_, 5);
        if (i % 8 == 0) index->add(queries_);
      } catch (const DataError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 130);
}

TEST_F(Faiss, NumbersThatAreNotFiniteAreRefused) {
  for (const IndexKind& kind : {kHnsw, kIvfPq}) {
    make(kind, x_)->save(path_);
    std::string bytes = read_file(path_, 1 << 24);
    // The vectors of the one and the centres of the other are a flat index.
    const size_t first = bytes.find("IxFI") + 45;
    for (const float number : {NAN, INFINITY}) {
      std::memcpy(bytes.data() + first, &number, sizeof(number));
      write_file(path_, bytes);
      expect_error<DataError>([&] { load_vector_index(path_); }, path_,
                              "NaN or infinite");
    }
  }
}

TEST_F(Faiss, TheCheckPassesWhatIsWhole) {
  for (const IndexKind& kind : {kHnsw, kIvfPq}) {
    make(kind, x_)->save(path_);
    check_faiss_file(path_);
    const std::string whole = read_file(path_, 1 << 24);
    write_file(path_, whole + "x");
    EXPECT_THROW(check_faiss_file(path_), DataError);
    write_file(path_, whole.substr(0, whole.size() - 1));
    EXPECT_THROW(check_faiss_file(path_), DataError);
  }
}

}  // namespace
}  // namespace kith
