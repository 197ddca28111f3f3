#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kith/core/file.h"

namespace kith {

/// The CRC-32C of every 4 MiB of a file: a part of a large file can be checked
/// without reading the rest.
struct FileSums {
  static constexpr uint64_t kBlock = uint64_t{4} << 20;

  uint64_t bytes = 0;         ///< Size of the file.
  std::vector<uint32_t> crc;  ///< Of each block; empty: nothing is known.

  bool known() const { return !crc.empty(); }
  /// Eight hexadecimal digits a block.
  std::string hex() const;
};

/// Reads all of a file. An empty one has one block of no bytes.
FileSums sums_of_file(const std::string& path);

/// Digits as FileSums::hex() writes them; false if they are none, or not of a
/// file of this size.
bool parse_sums(const std::string& hex, uint64_t bytes, FileSums& sums);

/// Compares a file with what it was when its sums were taken, each block when
/// something in it is first read. Safe from several threads.
class FileCheck {
 public:
  /// DataError if the size differs. Sums that are not known fit every file.
  FileCheck(const FileReader& file, FileSums sums);

  /// Reads as FileReader::read_at does. DataError if one of the blocks that
  /// hold these bytes differs.
  void read_at(const FileReader& file, uint64_t offset, void* out,
               size_t size) const;
  void check_all(const FileReader& file) const;

 private:
  /// Bytes of the file that are in memory already.
  struct Known {
    uint64_t first = 0;
    uint64_t end = 0;
    const char* bytes = nullptr;
  };
  void check_block(const FileReader& file, uint64_t block,
                   const Known& known) const;

  FileSums sums_;
  std::unique_ptr<std::atomic<bool>[]> checked_;
};

// A text can hold the CRC-32C of itself: eight hexadecimal digits behind a
// mark, which count as zeros. The mark is what precedes them, such as
// `"crc32c":"`.

inline constexpr std::string_view kNoSum = "00000000";
inline constexpr size_t kSumDigits = kNoSum.size();

/// Eight hexadecimal digits.
std::string sum_text(uint32_t sum);

/// Puts the sum in place of the zeros behind the mark, which must be there.
void put_own_sum(std::string& text, std::string_view mark);

/// Whether a text is what it was when its sum was put there. A text without the
/// mark has none to differ from.
bool own_sum_fits(std::string_view text, std::string_view mark);

}  // namespace kith
