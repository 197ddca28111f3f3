#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kith/core/file.h"
#include "kith/io/array.h"

namespace kith {

/// Reads a NumPy .npy file, format 1, 2 or 3: '<f2', '<f4', '<f8', '<i4',
/// '<i8', '|u1' and '|b1' in C order. Everything else (big endian, objects,
/// structured, Fortran order of a matrix) is a DataError that says what to do
/// in NumPy. The header must agree with the size of the file to the byte; that
/// is checked before the data is allocated.
Array read_npy(const std::string& path);

/// A .npy file whose rows (slices along the first dimension) are read a few at
/// a time. Checked as by read_npy when it is opened; reading is const and safe
/// from several threads.
class NpyFile {
 public:
  explicit NpyFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t byte_size() const { return byte_size_; }
  /// "f32 (1000, 512)"
  std::string description() const;

  /// Copies everything to `out`, which has room for byte_size() bytes.
  void read(void* out) const;

  /// Copies rows [first, first + count) to `out`, which has room for them.
  void read_rows(int64_t first, int64_t count, void* out) const;

 private:
  FileReader file_;
  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_;
  int64_t byte_size_ = 0;
  uint64_t data_offset_ = 0;
};

/// Writes format 1, atomically (see write_file_atomically). NumPy has no
/// bfloat16: DataError.
void write_npy(const std::string& path, const ArrayView& array);

/// The same for more than fits in memory: `fill` writes the elements, all of
/// them and in order, in as many pieces as it likes.
void write_npy(const std::string& path, DType dtype,
               const std::vector<int64_t>& shape,
               const std::function<void(FileWriter&)>& fill);

}  // namespace kith
