#pragma once

#include <optional>

#include "kith/index/scalar_code.h"
#include "kith/index/vector_index.h"

namespace kith {

/// An index of vectors whose numbers are kept in less room (ScalarCode). It is
/// searched exactly for the vectors that the codes stand for: of the first ones
/// from where they are, if that is not memory, of the others in the memory of
/// the device that searches.
class ScalarIndex : public VectorIndex {
 public:
  /// The codes of a file; see load_vector_index.
  ScalarIndex(const std::string& path, int64_t memory_mb, c10::Device device,
              const FileSums& sums);

  int64_t count() const override;
  int64_t dim() const override { return dim_; }
  void add(const Tensor& rows) override;
  /// Rows that are not in memory stay where they are.
  void add_rows(const Rows& rows) override;
  Neighbours search(const Tensor& queries, int64_t k) const override;
  Rows rows() const override;
  void save(const std::string& path) const override;

 protected:
  /// Empty, without a code.
  explicit ScalarIndex(int64_t dim);

  void set_code(ScalarCode code) { code_ = std::move(code); }

 private:
  const ScalarCode& code() const;
  /// The vectors that codes in memory stand for.
  Rows in_memory() const;

  c10::Device device_ = at::kCPU;
  int64_t dim_ = 0;
  std::optional<ScalarCode> code_;
  Rows read_;         ///< The first vectors; undefined if all are in memory.
  std::string file_;  ///< The file that holds just these, or empty.
  Tensor room_;  ///< [capacity, row_bytes], of which `used_` are of vectors.
  int64_t used_ = 0;
};

}  // namespace kith
