#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kith/core/file.h"

namespace kith {

/// One file of a zip archive, as its central directory describes it.
struct ZipEntry {
  std::string name;
  uint16_t method = 0;  ///< 0 stored, 8 deflated.
  bool encrypted = false;
  uint32_t crc = 0;            ///< CRC-32 of the contents; 0: not known.
  uint64_t packed_size = 0;    ///< Bytes in the archive.
  uint64_t size = 0;           ///< Bytes when unpacked.
  uint64_t header_offset = 0;  ///< Of the local header.
  uint64_t limit = 0;          ///< Where the next header or the directory is.

  bool stored() const { return method == 0; }
};

/// A zip archive open for reading. The constructor reads and checks the central
/// directory only (with zip64, for archives over 4 GiB): names are unique, and
/// entries lie in the file without overlap. Contents are compared with their
/// checksum when they are first read, where there is one: PyTorch can be told
/// to leave it out, and writes 0 then.
class ZipFile {
 public:
  /// DataError naming the file, and the entry where there is one.
  explicit ZipFile(const std::string& path);

  const std::string& path() const { return file_.path(); }

  /// In the order of the directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }

  /// nullptr if there is no such entry.
  const ZipEntry* find(std::string_view name) const;

  /// The contents of an entry, unpacked. DataError if they are longer than
  /// max_bytes or not what the directory says.
  std::string read(const ZipEntry& entry, uint64_t max_bytes) const;

  /// Bytes [offset, offset + size) of a stored entry.
  void read_range(const ZipEntry& entry, uint64_t offset, void* out,
                  size_t size) const;

 private:
  void read_directory(uint64_t offset, uint64_t size, uint64_t count);
  void check_overlap(uint64_t directory_offset);
  uint64_t data_offset(const ZipEntry& entry) const;
  void check_sum(const ZipEntry& entry, uint32_t found) const;
  void check_stored(const ZipEntry& entry, uint64_t data) const;

  FileReader file_;
  std::vector<ZipEntry> entries_;
  /// Of each stored entry, whether its checksum has been compared.
  std::unique_ptr<std::atomic<bool>[]> checked_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace kith
