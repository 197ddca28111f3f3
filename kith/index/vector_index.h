#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/core/registry.h"
#include "kith/index/flat.h"
#include "kith/io/file_sums.h"

namespace kith {

/// Vectors in the order they were added, and the nearest of them by inner
/// product. Vectors and queries are unit length, float32, on the CPU. Positions
/// are from 0 and never change: an item that is removed leaves its position
/// empty until the index is made anew.
///
/// A kind of index is a file in kinds/ that registers itself (`kith list
/// indexes`). Every kind is saved as a file that faiss 1.7.3 and later read.
class VectorIndex {
 public:
  virtual ~VectorIndex() = default;

  virtual int64_t count() const = 0;
  virtual int64_t dim() const = 0;

  /// Rows that train() wants to see before the first add(); 0: none.
  virtual int64_t training_rows() const { return 0; }
  virtual void train(const Tensor&) {}

  /// Appends rows [N, dim].
  virtual void add(const Tensor& rows) = 0;

  /// Appends rows, a block at a time. A kind may read them when it needs them
  /// instead: they must live as long as the index.
  virtual void add_rows(const Rows& rows);

  /// The k nearest of each query [Q, dim]; see Neighbours. Safe to call from
  /// several threads, also while no other changes the index.
  virtual Neighbours search(const Tensor& queries, int64_t k) const = 0;

  /// All vectors, by position, as long as the index lives and is not changed,
  /// on the device that searches them; undefined if the kind does not keep
  /// them.
  virtual Rows rows() const { return {}; }

  /// Writes the file, to a temporary name first.
  virtual void save(const std::string& path) const = 0;

  /// Whether search() finds exactly the nearest.
  virtual bool exact() const { return false; }
};

/// What a kind is told beside its own options.
struct VectorIndexInput {
  int64_t dim = 0;
  uint64_t seed = 0;
  int64_t expected = 0;  ///< Rows that will be added; 0: not known.
};

using VectorIndexRegistry = Registry<VectorIndex, VectorIndexInput>;
VectorIndexRegistry& vector_index_registry();

/// What add(), train() and search() of every kind check: [N, dim], float32, on
/// the CPU, finite, of a length that can be compared (see longest_row). Returns
/// them contiguous.
Tensor check_index_rows(const Tensor& rows, int64_t dim);

/// The index of a file, whatever its kind; those of kinds exact, float16 and
/// int8 need no faiss, are searched on `device`, and read a block at a time if
/// they are larger than `memory_mb`. faiss searches on the CPU. DataError names
/// the file if it is none, is damaged, or needs faiss and this kith has none.
/// What is read, now or later, is compared with `sums` if they are known.
std::unique_ptr<VectorIndex> load_vector_index(const std::string& path,
                                               int64_t memory_mb = 4096,
                                               c10::Device device = at::kCPU,
                                               const FileSums& sums = {});

}  // namespace kith
