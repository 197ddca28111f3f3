#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kith/index/rows.h"
#include "kith/index/scalar_code.h"
#include "kith/io/file_sums.h"

namespace kith {

/// A file of faiss's IndexScalarQuantizer by inner product, with 16 bits a
/// number (QT_fp16) or 8 (QT_8bit), whose codes are read a few at a time.
/// Little-endian: "IxSQ", dimension i32, count i64, twice 1 << 20 as i64,
/// trained u8, metric i32 (0: inner product), type i32 (0: 8 bits, 4: float16),
/// how ranges were found i32 and f32, dimension u64, bytes of a code u64, the
/// ranges (low, then width) behind their number u64, and the codes behind
/// theirs. Reading is const and safe from several threads.
class ScalarFile {
 public:
  /// DataError if it is no such file, is of another type, or is not as long as
  /// its header says. What is read is compared with `sums`, if they are known.
  explicit ScalarFile(const std::string& path, const FileSums& sums = {});

  const std::string& path() const { return file_.path(); }
  const ScalarCode& code() const { return code_; }
  int64_t count() const { return count_; }
  int64_t byte_size() const { return count_ * code_.row_bytes(); }

  /// Codes [first, first + count), [count, row_bytes] uint8.
  Tensor read(int64_t first, int64_t count) const;
  Tensor read_all(c10::Device device) const;

 private:
  ScalarCode read_header();

  FileReader file_;
  FileCheck check_;
  int64_t count_ = 0;
  uint64_t data_ = 0;  ///< Offset of the first code.
  ScalarCode code_;
};

/// Writes rows as such a file, a block at a time: to a temporary file that
/// takes the place of `path` at the end.
void write_scalar_file(const std::string& path, const ScalarCode& code,
                       const Rows& rows);

}  // namespace kith
