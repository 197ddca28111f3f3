#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

class Communicator;
struct RowShard;

/// Embeddings [N, D] in float32 that are read a block at a time: a tensor, or a
/// file that need not fit in memory. Cheap to copy; copies share the rows.
class Rows {
 public:
  class Source;  ///< What the rows come from; see row_source.h.

  Rows() = default;  ///< Undefined, like an undefined tensor.
  /// Rows in memory, as they are. Implicit: wherever rows are taken, a tensor
  /// will do.
  Rows(const Tensor& rows);  // NOLINT(google-explicit-constructor)

  bool defined() const { return source_ != nullptr; }
  int64_t count() const;
  int64_t dim() const;
  /// Where blocks are: the tensor's device, or the one given to `unit_rows`.
  c10::Device device() const;

  /// Rows [first, first + count): a view if they are in memory. One with a NaN
  /// or an infinite value that is not in memory is a DataError; of a file, also
  /// one of zeros, which has no direction.
  Tensor read(int64_t first, int64_t count) const;

  /// All of them as one tensor; undefined if they are read from a file.
  Tensor in_memory() const;

  /// Which of them this rank works on; null: all, it is alone. See
  /// shared_rows.h.
  const RowShard* shard() const;

  /// The same rows on another device.
  Rows on(c10::Device device) const;

  /// The same rows, not merely equal ones.
  bool same_as(const Rows& other) const { return source_ == other.source_; }

 private:
  explicit Rows(std::shared_ptr<const Source> source);
  friend Rows unit_rows(const std::string&, int64_t, c10::Device);
  friend Rows rows_from(int64_t, int64_t,
                        std::function<Tensor(int64_t, int64_t)>);
  friend Rows shared_rows(const Tensor&, Communicator&);
  friend Rows divided_rows(const Rows&, Communicator&);

  std::shared_ptr<const Source> source_;
};

/// Numbers that go with rows, labels or positions: int64 [count], contiguous
/// and on the CPU; undefined ones stay so. c10::ValueError if they are not
/// int64 [count]; `what` is what it calls them.
Tensor row_numbers(const Tensor& numbers, int64_t count, const char* what);

/// The same of positions among `rows` rows, -1 for none. c10::ValueError names
/// the first that is neither.
Tensor row_positions(const Tensor& positions, int64_t count, int64_t rows,
                     const char* what);

/// The rows of a .npy file (float16, 32 or 64, [N, D]) scaled to unit length.
/// Files up to `memory_mb` are loaded at once, larger ones a block at a time.
/// DataError names the file if it is no such matrix, or the row that has no
/// direction: with a NaN or an infinite value, or all zero.
Rows unit_rows(const std::string& path, int64_t memory_mb, c10::Device device);

/// Rows on the CPU that are read a block at a time: `read(first, rows)` gives
/// [rows, dim] in float32, from several threads at once.
Rows rows_from(int64_t count, int64_t dim,
               std::function<Tensor(int64_t, int64_t)> read);

/// The rows of one and then those of the other, on the CPU, which are read when
/// they are needed.
Rows joined_rows(const Rows& first, const Rows& second);

/// The rows at these positions, [P, D] on the CPU.
Tensor rows_at(const Rows& rows, const std::vector<int64_t>& positions);

/// DataError that names `path` and the row, counted from `first`, if one has a
/// NaN or an infinite value.
void check_finite(const Tensor& rows, const std::string& path, int64_t first);

/// DataError that names `path` and the row, counted from `first`, if one is no
/// unit vector, by more than rounding: it has a NaN or an infinite value, is
/// all zero, or was never scaled. One synchronisation.
void check_unit(const Tensor& rows, const std::string& path, int64_t first);

}  // namespace kith
