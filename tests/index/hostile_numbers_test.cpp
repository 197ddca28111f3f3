// Every kind of index on numbers that break arithmetic, in memory and from a
// file: an error, or neighbours that are right. A new kind is tested here
// without any change.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/faiss_index.h"
#include "kith/index/recall.h"
#include "kith/index/vector_index.h"
#include "kith/ops/pairwise.h"
#include "tests/index/has_faiss.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/hostile_rows.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr int64_t kRows = 400;
constexpr int64_t kHostileDim = 8;
constexpr int64_t kNearest = 5;

class HostileIndex : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool is_of_faiss = GetParam() == "hnsw" || GetParam() == "ivf_pq";
    if (is_of_faiss && !has_faiss()) {
      GTEST_SKIP() << "kith is built without faiss";
    }
  }

  static Tensor rows() {
    return normalize_rows(random_normal({kRows, kHostileDim}, 1, at::kFloat));
  }

  /// An index that is trained, with `x` in it.
  static std::unique_ptr<VectorIndex> make(const Tensor& x) {
    const std::string name = GetParam();
    const std::string small =
        name == "ivf_pq" ? ", lists: 4, subvectors: 4, bits: 6, probes: 4" : "";
    auto index = vector_index_registry().make(
        parse_config("{name: " + name + small + "}", "test"), "index",
        {kHostileDim, 3, kRows});
    if (index->training_rows() > 0) index->train(rows());
    index->add(x);
    return index;
  }

  /// The same from a file, in memory and in blocks, on every device.
  std::vector<std::unique_ptr<VectorIndex>> with_files(const Tensor& x) const {
    std::vector<std::unique_ptr<VectorIndex>> all;
    all.push_back(make(x));
    all.front()->save(path_);
    for (const c10::Device device : test_devices()) {
      all.push_back(load_vector_index(path_, 4096, device));
      all.push_back(load_vector_index(path_, 0, device));
    }
    return all;
  }

  TempDir folder_;
  std::string path_ = folder_.file("x.faiss");
};

TEST_P(HostileIndex, RefusesRowsThatCannotBeCompared) {
  std::vector<HostileRows> bad = rows_not_finite(rows());
  for (HostileRows& some : rows_finite(rows())) {
    const bool scaled = some.name.find("huge") != std::string::npos ||
                        some.name.find("tiny") != std::string::npos;
    if (scaled) bad.push_back(std::move(some));
  }
  for (const auto& index : with_files(rows())) {
    const Tensor before = index->search(rows().slice(0, 0, 9), 3).indices;
    for (const HostileRows& some : bad) {
      SCOPED_TRACE(some.name);
      EXPECT_ANY_THROW(index->add(some.x));
      EXPECT_ANY_THROW(index->search(some.x, kNearest));
      if (index->training_rows() > 0) {
        EXPECT_ANY_THROW(index->train(some.x));
      }
    }
    EXPECT_EQ(index->count(), kRows) << "nothing of what was refused is kept";
    EXPECT_TRUE(
        torch::equal(index->search(rows().slice(0, 0, 9), 3).indices, before));
  }
}

TEST_P(HostileIndex, FindsRowsThatAreEqualOrZero) {
  const Tensor queries = rows().slice(0, 0, 20);
  for (const auto& [name, x] : rows_finite(rows())) {
    if (name.find("huge") != std::string::npos ||
        name.find("tiny") != std::string::npos) {
      continue;
    }
    SCOPED_TRACE(name);
    const Tensor exact = torch::mm(queries.to(at::kDouble),
                                   x.to(at::kDouble).t());  // [Q, N]
    for (const auto& index : with_files(x)) {
      const Neighbours found = index->search(queries, kNearest);
      ASSERT_TRUE(found.similarities.isfinite().all().item<bool>());
      ASSERT_TRUE((found.indices >= 0).all().item<bool>());
      const Tensor order = std::get<0>(found.indices.sort(1));
      EXPECT_TRUE((order.diff(1, 1) > 0).all().item<bool>()) << "one twice";
      if (!index->exact()) continue;
      EXPECT_LE(max_difference(found.similarities,
                               std::get<0>(exact.topk(kNearest, 1))),
                1e-6);
      EXPECT_LE(
          max_difference(found.similarities, exact.gather(1, found.indices)),
          1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileIndex,
                         ::testing::ValuesIn(vector_index_registry().names()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

}  // namespace
}  // namespace kith
