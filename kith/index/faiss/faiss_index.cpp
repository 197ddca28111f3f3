#include "kith/index/faiss_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/Parallel.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/io.h>
#include <faiss/index_io.h>
#include <omp.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/index/faiss_file.h"

namespace kith {
namespace {

/// Gives faiss this many threads while it lives: faiss takes what OpenMP has,
/// which need not be what LibTorch was told.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) {
    omp_set_num_threads(count);
  }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

class Writer final : public faiss::IOWriter {
 public:
  explicit Writer(FileWriter& file) : file_(file) {}
  size_t operator()(const void* data, size_t size, size_t items) override {
    file_.write(data, size * items);
    return items;
  }

 private:
  FileWriter& file_;
};

class Reader final : public faiss::IOReader {
 public:
  explicit Reader(const std::string& path) : file_(path) { name = path; }
  size_t operator()(void* data, size_t size, size_t items) override {
    file_.read_at(at_, data, size * items);
    at_ += size * items;
    return items;
  }

 private:
  FileReader file_;
  uint64_t at_ = 0;
};

/// What the two kinds have in common.
template <class Index>
class FaissIndex : public VectorIndex {
 public:
  explicit FaissIndex(std::unique_ptr<Index> index)
      : index_(std::move(index)) {}

  int64_t count() const override { return index_->ntotal; }
  int64_t dim() const override { return index_->d; }

  void save(const std::string& path) const override {
    write_file_atomically(path, [&](FileWriter& file) {
      Writer writer(file);
      faiss::write_index(index_.get(), &writer);
    });
  }

 protected:
  static Neighbours nothing(int64_t queries, int64_t k) {
    return {torch::full({queries, k}, -1, at::kLong),
            torch::full({queries, k}, -std::numeric_limits<float>::infinity(),
                        at::kFloat)};
  }

  Neighbours find(const Tensor& rows, int64_t k,
                  const faiss::SearchParameters* parameters) const {
    Neighbours found = nothing(rows.size(0), k);
    if (rows.size(0) == 0 || k == 0) return found;
    const Threads threads(at::get_num_threads());
    index_->search(rows.size(0), rows.data_ptr<float>(), k,
                   found.similarities.data_ptr<float>(),
                   found.indices.data_ptr<int64_t>(), parameters);
    found.similarities.masked_fill_(found.indices < 0,
                                    -std::numeric_limits<float>::infinity());
    return found;
  }

  std::shared_ptr<Index> index_;
};

class IvfPq final : public FaissIndex<faiss::IndexIVFPQ> {
 public:
  using FaissIndex::FaissIndex;

  void train(const Tensor& rows) override {
    const Tensor checked = check_index_rows(rows, dim());
    const Threads threads(at::get_num_threads());
    index_->train(checked.size(0), checked.data_ptr<float>());
  }

  void add(const Tensor& rows) override {
    const Tensor checked = check_index_rows(rows, dim());
    const Threads threads(at::get_num_threads());
    index_->add(checked.size(0), checked.data_ptr<float>());
  }

  /// Where the lists looked into hold fewer than k, looks into more of them.
  Neighbours search(const Tensor& queries, int64_t k) const override {
    const Tensor rows = check_index_rows(queries, dim());
    k = std::min(k, count());
    Neighbours found = find(rows, k, nullptr);
    if (k == 0) return found;
    faiss::SearchParametersIVF more;
    more.nprobe = index_->nprobe;
    while (more.nprobe < index_->nlist) {
      const Tensor open = (found.indices.select(1, k - 1) < 0).nonzero();
      if (open.size(0) == 0) break;
      more.nprobe = std::min(4 * more.nprobe, index_->nlist);
      const Tensor which = open.select(1, 0);
      const Neighbours again = find(rows.index_select(0, which), k, &more);
      found.indices.index_copy_(0, which, again.indices);
      found.similarities.index_copy_(0, which, again.similarities);
    }
    return found;
  }
};

class Hnsw final : public FaissIndex<faiss::IndexHNSWFlat> {
 public:
  using FaissIndex::FaissIndex;

  /// On one thread: with more the links depend on who comes first.
  void add(const Tensor& rows) override {
    const Tensor checked = check_index_rows(rows, dim());
    TORCH_CHECK_VALUE(
        count() + checked.size(0) <= std::numeric_limits<int32_t>::max(),
        "an index of kind hnsw holds at most 2^31 - 1 vectors");
    const Threads threads(1);
    index_->add(checked.size(0), checked.data_ptr<float>());
  }

  Neighbours search(const Tensor& queries, int64_t k) const override {
    return find(check_index_rows(queries, dim()), std::min(k, count()),
                nullptr);
  }

  Rows rows() const override {
    return rows_from(
        count(), dim(), [index = index_](int64_t first, int64_t n) {
          Tensor rows = torch::empty({n, index->d}, at::kFloat);
          index->storage->reconstruct_n(first, n, rows.data_ptr<float>());
          return rows;
        });
  }
};

/// Most candidates that a file may ask to keep.
constexpr int kMaxCandidates = 1 << 20;
constexpr const char* kNotFinite = "it has a NaN or infinite value";

void expect(bool is_right, const std::string& path, const char* otherwise) {
  if (is_right) return;
  throw DataError(path + ": damaged index of faiss: " + otherwise);
}

/// Most links that a vector may have at all levels.
constexpr int kMaxLinks = 1 << 16;

bool are_finite(const float* numbers, size_t count) {
  return std::all_of(numbers, numbers + count,
                     [](float number) { return std::isfinite(number); });
}

/// The vectors that an index of this kind holds as they are.
bool are_finite(const faiss::Index* index) {
  const auto* flat = dynamic_cast<const faiss::IndexFlat*>(index);
  return flat != nullptr &&
         are_finite(flat->get_xb(), static_cast<size_t>(flat->ntotal) *
                                        static_cast<size_t>(flat->d));
}

/// Links a vector by level, summed: 0, then never less.
bool are_sums(const std::vector<int>& sums) {
  if (sums.empty() || sums[0] != 0 || sums.back() > kMaxLinks) return false;
  for (size_t i = 1; i < sums.size(); ++i) {
    if (sums[i] < sums[i - 1]) return false;
  }
  return true;
}

/// The links of vector `i` at every level are none (-1), or vectors that have
/// this level too.
bool links_are_right(const faiss::HNSW& hnsw, size_t i) {
  for (int level = 0; level < hnsw.levels[i]; ++level) {
    const auto at = static_cast<size_t>(level);
    const auto begin = static_cast<size_t>(hnsw.cum_nneighbor_per_level[at]);
    const auto end = static_cast<size_t>(hnsw.cum_nneighbor_per_level[at + 1]);
    for (size_t j = begin; j < end; ++j) {
      const int link = hnsw.neighbors[hnsw.offsets[i] + j];
      if (link == -1) continue;
      if (link < 0 || static_cast<size_t>(link) >= hnsw.levels.size() ||
          hnsw.levels[static_cast<size_t>(link)] <= level) {
        return false;
      }
    }
  }
  return true;
}

bool levels_are_right(const faiss::HNSW& hnsw) {
  const std::vector<int>& sums = hnsw.cum_nneighbor_per_level;
  if (hnsw.offsets[0] != 0) return false;
  for (size_t i = 0; i < hnsw.levels.size(); ++i) {
    const int level = hnsw.levels[i];
    if (level < 1 || static_cast<size_t>(level) >= sums.size()) return false;
    const auto links = static_cast<size_t>(sums[static_cast<size_t>(level)]);
    if (hnsw.offsets[i + 1] != hnsw.offsets[i] + links) return false;
  }
  return hnsw.offsets.back() == hnsw.neighbors.size();
}

bool entry_is_right(const faiss::HNSW& hnsw) {
  if (hnsw.levels.empty()) return hnsw.entry_point == -1;
  return hnsw.entry_point >= 0 &&
         static_cast<size_t>(hnsw.entry_point) < hnsw.levels.size() &&
         hnsw.max_level >= 0 &&
         hnsw.max_level < hnsw.levels[static_cast<size_t>(hnsw.entry_point)];
}

/// Checks what faiss follows without looking: links, levels and positions must
/// lie within the index. DataError names the file. The sizes are right: see
/// check_faiss_file.
void check_loaded(const faiss::IndexHNSWFlat& index, const std::string& path) {
  const faiss::HNSW& hnsw = index.hnsw;
  expect(
      are_sums(hnsw.cum_nneighbor_per_level) &&
          hnsw.assign_probas.size() + 1 == hnsw.cum_nneighbor_per_level.size(),
      path, "its levels make no sense");
  expect(hnsw.efConstruction > 0 && hnsw.efConstruction <= kMaxCandidates &&
             hnsw.efSearch > 0 && hnsw.efSearch <= kMaxCandidates &&
             hnsw.upper_beam == 1,
         path, "its settings make no sense");
  expect(levels_are_right(hnsw) && entry_is_right(hnsw), path,
         "its levels make no sense");
  for (size_t i = 0; i < hnsw.levels.size(); ++i) {
    expect(links_are_right(hnsw, i), path, "a link leads nowhere");
  }
  expect(are_finite(index.storage), path, kNotFinite);
}

void check_loaded(const faiss::IndexIVFPQ& index, const std::string& path) {
  const faiss::InvertedLists& lists = *index.invlists;
  for (size_t list = 0; list < index.nlist; ++list) {
    const faiss::InvertedLists::ScopedIds ids(&lists, list);
    for (size_t i = 0; i < lists.list_size(list); ++i) {
      expect(ids[i] >= 0 && ids[i] < index.ntotal, path,
             "a position is outside of it");
    }
  }
  expect(are_finite(index.quantizer) &&
             are_finite(index.pq.centroids.data(), index.pq.centroids.size()),
         path, kNotFinite);
}

/// Calls `action`; an exception of faiss becomes one of kith.
template <class Error, class Action>
auto translated(const std::string& what, const Action& action) {
  try {
    return action();
  } catch (const faiss::FaissException& error) {
    throw Error(what + ": " + error.what());
  }
}

}  // namespace

void require_faiss(const std::string&) {}

std::unique_ptr<VectorIndex> make_faiss_ivf_pq(const IvfPqShape& shape) {
  return translated<ConfigError>("index ivf_pq", [&] {
    auto centres = std::make_unique<faiss::IndexFlatIP>(shape.dim);
    auto index = std::make_unique<faiss::IndexIVFPQ>(
        centres.get(), static_cast<size_t>(shape.dim),
        static_cast<size_t>(shape.lists), static_cast<size_t>(shape.subvectors),
        static_cast<size_t>(shape.bits), faiss::METRIC_INNER_PRODUCT);
    centres.release();  // NOLINT(bugprone-unused-return-value): the index's
    index->own_fields = true;
    index->nprobe = static_cast<size_t>(shape.probes);
    const int seed = static_cast<int>(shape.seed & 0x7fffffff);
    for (faiss::ClusteringParameters* each : {&index->cp, &index->pq.cp}) {
      each->seed = seed;
      each->min_points_per_centroid = 1;  // do not warn on standard error
    }
    return std::make_unique<IvfPq>(std::move(index));
  });
}

std::unique_ptr<VectorIndex> make_faiss_hnsw(const HnswShape& shape) {
  return translated<ConfigError>("index hnsw", [&] {
    auto index = std::make_unique<faiss::IndexHNSWFlat>(
        static_cast<int>(shape.dim), static_cast<int>(shape.links),
        faiss::METRIC_INNER_PRODUCT);
    index->hnsw.efConstruction = static_cast<int>(shape.ef_construction);
    index->hnsw.efSearch = static_cast<int>(shape.ef_search);
    return std::make_unique<Hnsw>(std::move(index));
  });
}

std::unique_ptr<VectorIndex> read_faiss_index(const std::string& path) {
  check_faiss_file(path);
  return translated<DataError>(path, [&]() -> std::unique_ptr<VectorIndex> {
    Reader reader(path);
    std::unique_ptr<faiss::Index> index(faiss::read_index(&reader));
    if (auto* hnsw = dynamic_cast<faiss::IndexHNSWFlat*>(index.get())) {
      check_loaded(*hnsw, path);
      index.release();  // NOLINT(bugprone-unused-return-value)
      return std::make_unique<Hnsw>(
          std::unique_ptr<faiss::IndexHNSWFlat>(hnsw));
    }
    auto* ivf_pq = dynamic_cast<faiss::IndexIVFPQ*>(index.get());
    KITH_ASSERT(ivf_pq != nullptr);  // check_faiss_file knows these two
    check_loaded(*ivf_pq, path);
    index.release();  // NOLINT(bugprone-unused-return-value)
    return std::make_unique<IvfPq>(std::unique_ptr<faiss::IndexIVFPQ>(ivf_pq));
  });
}

}  // namespace kith
