#include "kith/index/faiss_index.h"

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
#include "kith/index/faiss/check_loaded.h"
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
