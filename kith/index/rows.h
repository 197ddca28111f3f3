#pragma once

#include <memory>
#include <string>

#include "kith/core/tensor.h"

namespace kith {

/// Embeddings [N, D] in float32 that are read a block at a time: a tensor, or a
/// file that need not fit in memory. Cheap to copy; copies share the rows.
class Rows {
 public:
  class Source;  ///< What the rows come from; see rows.cpp.

  Rows() = default;  ///< Undefined, like an undefined tensor.
  /// Rows in memory, as they are. Implicit: wherever rows are taken, a tensor
  /// will do.
  Rows(const Tensor& rows);  // NOLINT(google-explicit-constructor)

  bool defined() const { return source_ != nullptr; }
  int64_t count() const;
  int64_t dim() const;
  /// Where blocks are: the tensor's device, or the one given to `unit_rows`.
  c10::Device device() const;

  /// Rows [first, first + count): a view if they are in memory. A file's row
  /// with a NaN or an infinite value is a DataError.
  Tensor read(int64_t first, int64_t count) const;

  /// All of them as one tensor; undefined if they are read from a file.
  Tensor in_memory() const;

  /// The same rows on another device.
  Rows on(c10::Device device) const;

  /// The same rows, not merely equal ones.
  bool same_as(const Rows& other) const { return source_ == other.source_; }

 private:
  explicit Rows(std::shared_ptr<const Source> source);
  friend Rows unit_rows(const std::string&, int64_t, c10::Device);

  std::shared_ptr<const Source> source_;
};

/// The rows of a .npy file (float16, 32 or 64, [N, D]) scaled to unit length.
/// Files up to `memory_mb` are loaded at once, larger ones a block at a time.
/// DataError names the file if it is no such matrix.
Rows unit_rows(const std::string& path, int64_t memory_mb, c10::Device device);

}  // namespace kith
