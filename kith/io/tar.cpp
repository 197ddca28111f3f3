#include "kith/io/tar.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "kith/core/error.h"
#include "kith/core/quote.h"

namespace kith {
namespace {

constexpr uint64_t kTarBlock = 512;
// Of a name or of pax records, which stand in the archive as files do.
constexpr uint64_t kMaxTarName = uint64_t{1} << 20;

using TarBlock = std::array<char, kTarBlock>;

/// A field of a header: up to its first zero.
std::string_view tar_text(const TarBlock& block, size_t at, size_t size) {
  const std::string_view field(block.data() + at, size);
  return field.substr(0, std::min(field.find('\0'), size));
}

/// Octal digits between spaces; or, if the first bit is set, a binary number
/// of GNU. Nothing if it is neither, or too large for a file.
std::optional<uint64_t> tar_number(const TarBlock& block, size_t at,
                                   size_t size) {
  uint64_t value = 0;
  if (static_cast<unsigned char>(block[at]) == 0x80) {
    for (size_t i = at + 1; i < at + size; ++i) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(block[i]);
    }
    return value;
  }
  std::string_view digits = tar_text(block, at, size);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  if (digits.empty()) return std::nullopt;
  for (const char c : digits) {  // at most 12: no overflow
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

constexpr size_t kSumAt = 148;
constexpr size_t kSumSize = 8;

/// The sum of the bytes of a header, if it is the one that it holds; its own
/// field counts as spaces. Some programs added up signed bytes.
std::optional<uint32_t> tar_sum(const TarBlock& block) {
  const auto expected = tar_number(block, kSumAt, kSumSize);
  if (!expected) return std::nullopt;
  int64_t plain = 0;
  int64_t with_sign = 0;
  for (size_t i = 0; i < kTarBlock; ++i) {
    const char c = i - kSumAt < kSumSize ? ' ' : block[i];
    plain += static_cast<unsigned char>(c);
    with_sign += static_cast<signed char>(c);
  }
  const auto sum = static_cast<int64_t>(*expected);
  if (sum != plain && sum != with_sign) return std::nullopt;
  return static_cast<uint32_t>(*expected);
}

/// What a pax header says of the next file.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<uint64_t> size;
};

class TarReader {
 public:
  explicit TarReader(const FileReader& archive) : archive_(archive) {}

  std::vector<TarEntry> read() {
    // Two empty blocks end an archive; one, or none, is common too.
    while (archive_.size() - at_ >= kTarBlock && read_entry()) {
    }
    if (at_ == 0) refuse_other();
    return std::move(entries_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw DataError(archive_.path() + ": broken tar archive: at byte " +
                    std::to_string(at_) + " " + why);
  }

  [[noreturn]] void refuse_other() const {
    throw DataError(archive_.path() +
                    ": not a tar archive; one that is compressed (.tar.gz, "
                    ".tar.zst) is to be unpacked first");
  }

  /// False at the end.
  bool read_entry() {
    TarBlock block;
    archive_.read_at(at_, block.data(), kTarBlock);
    if (std::all_of(block.begin(), block.end(),
                    [](char c) { return c == '\0'; })) {
      if (at_ == 0) at_ = kTarBlock;  // an archive of nothing
      return false;
    }
    const std::optional<uint32_t> sum = tar_sum(block);
    if (!sum) {
      if (at_ == 0) refuse_other();
      fail("the checksum of a header is wrong");
    }
    const auto stored = tar_number(block, 124, 12);
    if (!stored) fail("a header has no size");
    const char type = block[156];
    const bool is_file = type == '0' || type == '\0' || type == '7';
    const uint64_t size = is_file && pax_.size ? *pax_.size : *stored;
    const uint64_t data = at_ + kTarBlock;
    if (size > archive_.size() - data) {
      fail("the archive ends within a file of " + std::to_string(size) +
           " bytes: it is truncated");
    }
    if (type == 'L') {
      long_name_ = read_extension(data, size);
      long_name_->resize(std::min(long_name_->find('\0'), long_name_->size()));
    } else if (type == 'x') {
      read_pax(read_extension(data, size));
    } else {
      if (is_file) entries_.push_back({name_of(block), data, size, *sum});
      pax_ = {};
      long_name_.reset();
    }
    const uint64_t padded = (size + kTarBlock - 1) / kTarBlock * kTarBlock;
    at_ = data + std::min(padded, archive_.size() - data);
    return true;
  }

  std::string name_of(const TarBlock& block) const {
    if (pax_.path) return *pax_.path;
    if (long_name_) return *long_name_;
    const std::string name(tar_text(block, 0, 100));
    const bool is_posix = std::memcmp(block.data() + 257, "ustar\0", 6) == 0;
    const std::string_view prefix =
        is_posix ? tar_text(block, 345, 155) : std::string_view();
    return prefix.empty() ? name : std::string(prefix) + "/" + name;
  }

  std::string read_extension(uint64_t offset, uint64_t size) const {
    if (size > kMaxTarName) {
      fail("a name takes " + std::to_string(size) + " bytes");
    }
    std::string bytes(static_cast<size_t>(size), '\0');
    archive_.read_at(offset, bytes.data(), bytes.size());
    return bytes;
  }

  /// "LENGTH KEY=VALUE\n", one after the other; the length counts all of it.
  void read_pax(std::string_view records) {
    pax_ = {};
    while (!records.empty() && records.front() != '\0') {
      uint64_t length = 0;
      size_t digits = 0;
      while (digits < std::min(records.size(), size_t{8}) &&
             records[digits] >= '0' && records[digits] <= '9') {
        length = 10 * length + static_cast<uint64_t>(records[digits++] - '0');
      }
      if (digits == 0 || length <= digits + 1 || length > records.size() ||
          records[digits] != ' ' || records[length - 1] != '\n') {
        fail("an extended header is damaged");
      }
      const std::string_view record =
          records.substr(digits + 1, length - digits - 2);
      const size_t equals = record.find('=');
      if (equals == std::string_view::npos) {
        fail("an extended header is damaged");
      }
      take_pax(record.substr(0, equals), record.substr(equals + 1));
      records.remove_prefix(length);
    }
  }

  void take_pax(std::string_view key, std::string_view value) {
    if (key == "path") {
      pax_.path = std::string(value);
    } else if (key == "size") {
      uint64_t size = 0;
      for (const char c : value) {
        if (c < '0' || c > '9' || size >> 59 != 0) {
          fail("an extended header has the size " + quote(std::string(value)));
        }
        size = 10 * size + static_cast<uint64_t>(c - '0');
      }
      pax_.size = size;
    } else if (key.starts_with("GNU.sparse")) {
      fail("a file is stored with holes (sparse), which is not read");
    }
  }

  const FileReader& archive_;
  uint64_t at_ = 0;
  PaxRecords pax_;
  std::optional<std::string> long_name_;
  std::vector<TarEntry> entries_;
};

}  // namespace

std::vector<TarEntry> read_tar(const FileReader& archive) {
  return TarReader(archive).read();
}

std::string read_tar_entry(const FileReader& archive, const TarEntry& entry,
                           uint64_t max_bytes) {
  if (entry.size > max_bytes) {
    throw DataError(archive.path() + ": " + quote(entry.name) + " has " +
                    std::to_string(entry.size) + " bytes; at most " +
                    std::to_string(max_bytes) + " are read");
  }
  KITH_ASSERT(entry.offset >= kTarBlock);
  std::string bytes(kTarBlock + static_cast<size_t>(entry.size), '\0');
  archive.read_at(entry.offset - kTarBlock, bytes.data(), bytes.size());
  TarBlock block;
  std::copy_n(bytes.begin(), kTarBlock, block.begin());
  if (tar_sum(block) != entry.sum) {
    throw DataError(archive.path() + ": the archive was changed while it was " +
                    "used: " + quote(entry.name) + " is no longer at byte " +
                    std::to_string(entry.offset) + "; start again");
  }
  return bytes.substr(kTarBlock);
}

}  // namespace kith
