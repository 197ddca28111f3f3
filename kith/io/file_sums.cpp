#include "kith/io/file_sums.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "kith/core/error.h"
#include "kith/io/crc32c.h"

namespace kith {
namespace {

/// Where the digits are; npos if there is no mark.
size_t find_digits(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == text.npos || text.size() - at - mark.size() < kNoSum.size()) {
    return text.npos;
  }
  return at + mark.size();
}

std::string own_sum(std::string_view text, size_t digits) {
  uint32_t sum = crc32c(text.substr(0, digits));
  sum = crc32c(kNoSum, sum);
  return sum_text(crc32c(text.substr(digits + kNoSum.size()), sum));
}

uint64_t block_count(uint64_t bytes) {
  return std::max<uint64_t>((bytes + FileSums::kBlock - 1) / FileSums::kBlock,
                            1);
}

/// The CRC-32C of bytes [first, end), which continues that of those before.
uint32_t crc_of_range(const FileReader& file, uint64_t first, uint64_t end,
                      uint32_t before) {
  if (first >= end) return before;
  const auto size = static_cast<size_t>(end - first);
  const auto bytes = std::make_unique_for_overwrite<char[]>(size);
  file.read_at(first, bytes.get(), size);
  return crc32c({bytes.get(), size}, before);
}

uint64_t end_of_block(uint64_t block, uint64_t bytes) {
  return std::min((block + 1) * FileSums::kBlock, bytes);
}

[[noreturn]] void throw_changed(const std::string& path,
                                const std::string& what) {
  throw DataError(path + ": damaged: " + what +
                  " since it was written; take another copy of it and the "
                  "files beside it, or make it anew");
}

}  // namespace

std::string sum_text(uint32_t sum) {
  char text[kNoSum.size() + 1];
  std::snprintf(text, sizeof text, "%08x", sum);
  return text;
}

void put_own_sum(std::string& text, std::string_view mark) {
  const size_t digits = find_digits(text, mark);
  KITH_ASSERT(digits != text.npos);
  text.replace(digits, kNoSum.size(), own_sum(text, digits));
}

bool own_sum_fits(std::string_view text, std::string_view mark) {
  const size_t digits = find_digits(text, mark);
  return digits == text.npos ||
         text.substr(digits, kNoSum.size()) == own_sum(text, digits);
}

std::string FileSums::hex() const {
  std::string text;
  for (const uint32_t sum : crc) text += sum_text(sum);
  return text;
}

FileSums sums_of_file(const std::string& path) {
  const FileReader file(path);
  FileSums sums;
  sums.bytes = file.size();
  for (uint64_t block = 0; block < block_count(sums.bytes); ++block) {
    sums.crc.push_back(crc_of_range(file, block * FileSums::kBlock,
                                    end_of_block(block, sums.bytes), 0));
  }
  return sums;
}

bool parse_sums(const std::string& hex, uint64_t bytes, FileSums& sums) {
  if (hex.size() % kSumDigits != 0 ||
      hex.size() / kSumDigits != block_count(bytes)) {
    return false;
  }
  sums.bytes = bytes;
  sums.crc.clear();
  for (size_t at = 0; at < hex.size(); at += kSumDigits) {
    const char* end = hex.data() + at + kSumDigits;
    uint32_t crc = 0;
    if (std::from_chars(hex.data() + at, end, crc, 16).ptr != end) return false;
    sums.crc.push_back(crc);
  }
  return true;
}

FileCheck::FileCheck(const FileReader& file, FileSums sums)
    : sums_(std::move(sums)) {
  if (!sums_.known()) return;
  if (file.size() != sums_.bytes) {
    throw_changed(file.path(), "its size went from " +
                                   std::to_string(sums_.bytes) + " to " +
                                   std::to_string(file.size()) + " bytes");
  }
  checked_ = std::make_unique<std::atomic<bool>[]>(sums_.crc.size());
}

void FileCheck::read_at(const FileReader& file, uint64_t offset, void* out,
                        size_t size) const {
  file.read_at(offset, out, size);
  if (!sums_.known() || size == 0) return;
  const Known known = {offset, offset + size, static_cast<const char*>(out)};
  const uint64_t last = (known.end - 1) / FileSums::kBlock;
  for (uint64_t block = offset / FileSums::kBlock; block <= last; ++block) {
    check_block(file, block, known);
  }
}

void FileCheck::check_all(const FileReader& file) const {
  for (uint64_t block = 0; block < sums_.crc.size(); ++block) {
    check_block(file, block, {});
  }
}

void FileCheck::check_block(const FileReader& file, uint64_t block,
                            const Known& known) const {
  if (checked_[block]) return;
  const uint64_t first = block * FileSums::kBlock;
  const uint64_t end = end_of_block(block, sums_.bytes);
  // What is in memory already is not read again.
  const uint64_t from = std::clamp(known.first, first, end);
  const uint64_t to = std::clamp(known.end, from, end);
  uint32_t crc = crc_of_range(file, first, from, 0);
  if (to > from) {
    crc = crc32c({known.bytes + (from - known.first), to - from}, crc);
  }
  crc = crc_of_range(file, to, end, crc);
  if (crc != sums_.crc[block]) {
    throw_changed(file.path(), "bytes " + std::to_string(first) + " to " +
                                   std::to_string(end) +
                                   " have changed (their checksum differs)");
  }
  checked_[block] = true;
}

}  // namespace kith
