#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kith/index/rows.h"
#include "kith/io/file_sums.h"

namespace kith {

/// Numbers of a vector in an index, at most: more is a damaged file.
constexpr int64_t kMaxIndexDim = int64_t{1} << 20;

/// What precedes the vectors of an IndexFlatIP of faiss, little-endian: "IxFI",
/// dimension i32, count i64, twice 1 << 20 as i64, trained u8, metric i32 (0:
/// inner product), numbers that follow u64.
struct FlatHeader {
  int64_t dim = 0;
  int64_t count = 0;
  uint64_t data = 0;  ///< Offset of the first vector in the file.
  uint64_t end = 0;   ///< Offset behind the last one.
};

/// The header at an offset of a file. DataError if it is none, is of another
/// metric, or says that there is more than the file holds.
FlatHeader read_flat_header(const FileReader& file, uint64_t offset);

/// A file of faiss's IndexFlatIP whose vectors are read a few at a time.
/// Reading is const and safe from several threads.
class FlatFile {
 public:
  /// DataError if it is no such file, or is not as long as its header says.
  /// What is read is compared with `sums`, if they are known.
  explicit FlatFile(const std::string& path, const FileSums& sums = {});

  const std::string& path() const { return file_.path(); }
  int64_t count() const { return header_.count; }
  int64_t dim() const { return header_.dim; }
  int64_t byte_size() const { return 4 * count() * dim(); }

  /// Vectors [first, first + count). DataError if one is not finite.
  Tensor read(int64_t first, int64_t count) const;
  Tensor read_all(c10::Device device) const;

 private:
  FileReader file_;
  FileCheck check_;
  FlatHeader header_;
};

/// What write_flat_file hands to its callback.
class FlatFileWriter {
 public:
  FlatFileWriter(FileWriter& file, int64_t dim);

  /// Appends rows [N, dim].
  void add(const Tensor& rows);

 private:
  friend void write_flat_file(const std::string&, int64_t,
                              const std::function<void(FlatFileWriter&)>&);
  void write_count();

  FileWriter& file_;
  int64_t dim_;
  int64_t count_ = 0;
};

/// Writes an IndexFlatIP of as many vectors as `fill` adds, which need not fit
/// in memory: to a temporary file that takes the place of `path` at the end.
void write_flat_file(const std::string& path, int64_t dim,
                     const std::function<void(FlatFileWriter&)>& fill);

}  // namespace kith
