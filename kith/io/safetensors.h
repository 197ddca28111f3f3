#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kith/core/file.h"
#include "kith/io/array.h"

namespace kith {

/// One tensor of a safetensors file. [begin, end) counts bytes from the start
/// of the data, that is after the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// A safetensors file open for reading: u64 header length, JSON header, data.
/// The constructor reads and checks the header only: every range lies in the
/// file, agrees with dtype and shape, and together they cover the data without
/// overlap or gap. Tensors are read one at a time, so a large file is never in
/// memory twice. Dtypes: F64 F32 F16 BF16 I64 I32 U8 BOOL.
///
/// A file of write_safetensors has checksums: its header is compared with them
/// by the constructor, a tensor when it is read. One from elsewhere need not
/// have any.
class SafetensorsFile {
 public:
  /// DataError naming the file, and the tensor where there is one.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }

  /// In the order of the data.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  /// Without the checksums.
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

  /// nullptr if there is no such tensor.
  const SafetensorsEntry* find(const std::string& name) const;

  /// DataError if there is no such tensor.
  const SafetensorsEntry& at(const std::string& name) const;
  Array read(const std::string& name) const;

  /// Reads into memory of the caller: entry.end - entry.begin bytes.
  void read_into(const SafetensorsEntry& entry, void* out) const;

 private:
  FileReader file_;
  uint64_t data_offset_ = 0;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<uint32_t> sums_;  ///< CRC-32C of each entry; empty: not known.
};

/// Whether nothing in a file has changed since it was written, as far as its
/// checksums tell: reads all of it.
bool is_whole_safetensors(const std::string& path);

/// Writes atomically (see write_file_atomically), with checksums in the
/// metadata ("kith.crc32c.header", "kith.crc32c.tensors"). Data goes out by
/// descending element size, then in the order given, which keeps every tensor
/// aligned. The same input gives the same bytes. DataError for a name that is
/// repeated, not UTF-8, or "__metadata__".
void write_safetensors(
    const std::string& path,
    const std::vector<std::pair<std::string, ArrayView>>& tensors,
    const std::map<std::string, std::string>& metadata = {});

}  // namespace kith
