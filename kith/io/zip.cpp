#include "kith/io/zip.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include <zlib.h>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/io/byte_stream.h"

namespace kith {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryHeader = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kEnd64Locator = 0x07064b50;
constexpr uint64_t kLocalHeaderSize = 30;
constexpr uint64_t kDirectoryHeaderSize = 46;
constexpr uint64_t kEndSize = 22;
constexpr uint64_t kEnd64Size = 56;
constexpr uint64_t kEnd64LocatorSize = 20;
constexpr uint64_t kMaxComment = 0xffff;
constexpr uint64_t kMaxDirectory = uint64_t{256} << 20;
constexpr uint16_t kDeflated = 8;
// The most that deflate makes of one byte; a larger claim is a lie.
constexpr uint64_t kMaxInflation = 1032;

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw DataError(path + ": broken zip archive: " + why);
}

// The end record stands last, before a comment of unknown length.
uint64_t find_end(const FileReader& file) {
  const uint64_t length = std::min(file.size(), kEndSize + kMaxComment);
  std::string tail(static_cast<size_t>(length), '\0');
  file.read_at(file.size() - length, tail.data(), tail.size());
  for (uint64_t from_end = kEndSize; from_end <= length; ++from_end) {
    const char* at = tail.data() + (length - from_end);
    uint32_t signature = 0;
    uint16_t comment = 0;
    std::memcpy(&signature, at, sizeof signature);
    std::memcpy(&comment, at + kEndSize - sizeof comment, sizeof comment);
    if (signature == kEnd && comment == from_end - kEndSize) {
      return file.size() - from_end;
    }
  }
  throw DataError(file.path() +
                  ": truncated zip archive, or none at all: its directory, "
                  "which stands at the end, is missing");
}

// The 64-bit end record, where there is one in front of the end record.
std::optional<Directory> find_directory64(const FileReader& file,
                                          uint64_t end) {
  if (end < kEnd64LocatorSize) return std::nullopt;
  ByteStream locator(file, end - kEnd64LocatorSize, end);
  if (locator.number<uint32_t>() != kEnd64Locator) return std::nullopt;
  locator.number<uint32_t>();
  const uint64_t record = locator.number<uint64_t>();
  if (end < kEnd64Size || record > end - kEnd64Size) {
    fail(file.path(), "the 64-bit end record lies outside of the file");
  }
  ByteStream in(file, record, record + kEnd64Size);
  if (in.number<uint32_t>() != kEnd64) {
    fail(file.path(), "there is no 64-bit end record where there should be");
  }
  in.take(28);
  Directory directory;
  directory.count = in.number<uint64_t>();
  directory.size = in.number<uint64_t>();
  directory.offset = in.number<uint64_t>();
  return directory;
}

Directory find_directory(const FileReader& file, uint64_t end) {
  ByteStream in(file, end, end + kEndSize);
  in.take(8);
  const auto disk_count = in.number<uint16_t>();
  Directory directory;
  directory.count = in.number<uint16_t>();
  directory.size = in.number<uint32_t>();
  directory.offset = in.number<uint32_t>();
  if (disk_count != directory.count) {
    fail(file.path(), "archives in several parts are not supported");
  }
  const bool saturated =
      directory.count == std::numeric_limits<uint16_t>::max() ||
      directory.size == std::numeric_limits<uint32_t>::max() ||
      directory.offset == std::numeric_limits<uint32_t>::max();
  if (saturated) {
    if (const auto found = find_directory64(file, end)) directory = *found;
  }
  if (directory.offset > end || directory.size > end - directory.offset ||
      directory.size > kMaxDirectory) {
    fail(file.path(), "the directory lies outside of the file");
  }
  if (directory.count > directory.size / kDirectoryHeaderSize) {
    fail(file.path(), "a directory of " + std::to_string(directory.size) +
                          " bytes cannot hold " +
                          std::to_string(directory.count) + " entries");
  }
  return directory;
}

// Sizes and offsets that do not fit in 32 bits stand in an extra field, in this
// order, each only if its 32-bit field is saturated.
void read_zip64(const std::string& extra, ZipEntry& entry,
                const std::string& path) {
  constexpr uint16_t kZip64 = 1;
  ByteStream in(extra, path);
  while (in.remaining() >= 4) {
    const auto id = in.number<uint16_t>();
    const std::string field = in.take(in.number<uint16_t>());
    if (id != kZip64) continue;
    ByteStream values(field, path);
    for (uint64_t* value :
         {&entry.size, &entry.packed_size, &entry.header_offset}) {
      if (*value == std::numeric_limits<uint32_t>::max()) {
        *value = values.number<uint64_t>();
      }
    }
    return;
  }
}

ZipEntry read_entry(ByteStream& in, const std::string& path) {
  if (in.number<uint32_t>() != kDirectoryHeader) {
    fail(path, "a directory entry does not start as one");
  }
  ZipEntry entry;
  in.take(4);
  entry.encrypted = (in.number<uint16_t>() & 1) != 0;
  entry.method = in.number<uint16_t>();
  in.take(4);
  entry.crc = in.number<uint32_t>();
  entry.packed_size = in.number<uint32_t>();
  entry.size = in.number<uint32_t>();
  const auto name_size = in.number<uint16_t>();
  const auto extra_size = in.number<uint16_t>();
  const auto comment_size = in.number<uint16_t>();
  in.take(8);
  entry.header_offset = in.number<uint32_t>();
  entry.name = in.take(name_size);
  read_zip64(in.take(extra_size), entry, path);
  in.take(comment_size);
  return entry;
}

/// As zlib counts, in 32 bits: in parts.
uint32_t crc_of(uint32_t before, const char* bytes, uint64_t size) {
  constexpr uint64_t kPart = uint64_t{1} << 30;
  auto crc = static_cast<uLong>(before);
  for (uint64_t at = 0; at < size; at += kPart) {
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(bytes + at),
                  static_cast<uInt>(std::min(kPart, size - at)));
  }
  return static_cast<uint32_t>(crc);
}

std::string inflate_all(const std::string& packed, uint64_t size,
                        const std::string& where) {
  std::string out(static_cast<size_t>(size), '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const auto* next_in = reinterpret_cast<const Bytef*>(packed.data());
  auto* next_out = reinterpret_cast<Bytef*>(out.data());
  // zlib counts in 32 bits: both sides are handed over in parts.
  constexpr uint64_t kPart = uint64_t{1} << 30;
  uint64_t left_in = packed.size();
  uint64_t left_out = size;
  int status = Z_OK;
  stream.next_in = const_cast<Bytef*>(next_in);
  stream.next_out = next_out;
  while (status == Z_OK) {
    const auto part_in = static_cast<uInt>(std::min(kPart, left_in));
    const auto part_out = static_cast<uInt>(std::min(kPart, left_out));
    stream.avail_in = part_in;
    stream.avail_out = part_out;
    status = inflate(&stream, Z_NO_FLUSH);
    left_in -= part_in - stream.avail_in;
    left_out -= part_out - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || left_in != 0 || left_out != 0) {
    throw DataError(where + " does not unpack to the " + std::to_string(size) +
                    " bytes that the directory promises");
  }
  return out;
}

}  // namespace

ZipFile::ZipFile(const std::string& path) : file_(path) {
  const Directory directory = find_directory(file_, find_end(file_));
  read_directory(directory.offset, directory.size, directory.count);
  check_overlap(directory.offset);
  checked_ = std::make_unique<std::atomic<bool>[]>(entries_.size());
}

void ZipFile::read_directory(uint64_t offset, uint64_t size, uint64_t count) {
  ByteStream in(file_, offset, offset + size);
  entries_.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    entries_.push_back(read_entry(in, path()));
    if (!index_.emplace(entries_.back().name, i).second) {
      fail(path(), quote(entries_.back().name) + " appears twice");
    }
  }
}

void ZipFile::check_overlap(uint64_t directory_offset) {
  std::vector<ZipEntry*> order;
  order.reserve(entries_.size());
  for (ZipEntry& entry : entries_) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const ZipEntry* a, const ZipEntry* b) {
              return a->header_offset > b->header_offset;
            });
  uint64_t limit = directory_offset;
  for (ZipEntry* entry : order) {
    entry->limit = limit;
    const uint64_t header = kLocalHeaderSize + entry->name.size();
    if (entry->header_offset > limit || limit - entry->header_offset < header ||
        limit - entry->header_offset - header < entry->packed_size) {
      fail(path(), quote(entry->name) + " of " +
                       std::to_string(entry->packed_size) +
                       " bytes overlaps with what follows it");
    }
    limit = entry->header_offset;
  }
}

const ZipEntry* ZipFile::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &entries_[found->second];
}

// The local header repeats the name, and alone tells how long its extra field
// is (PyTorch aligns data with it).
uint64_t ZipFile::data_offset(const ZipEntry& entry) const {
  const std::string where = quote(entry.name);
  if (entry.encrypted) fail(path(), where + " is encrypted");
  if (entry.stored() && entry.packed_size != entry.size) {
    fail(path(), where + " is stored, but has two different sizes");
  }
  ByteStream in(file_, entry.header_offset, entry.limit);
  if (in.number<uint32_t>() != kLocalHeader) {
    fail(path(), where + " is not where the directory says");
  }
  in.take(22);
  const auto name_size = in.number<uint16_t>();
  const auto extra_size = in.number<uint16_t>();
  if (name_size != entry.name.size() || in.take(name_size) != entry.name) {
    fail(path(), where + " has another name in its own header");
  }
  in.take(extra_size);
  if (in.remaining() < entry.packed_size) {
    fail(path(), where + " overlaps with what follows it");
  }
  return in.position();
}

std::string ZipFile::read(const ZipEntry& entry, uint64_t max_bytes) const {
  const std::string where = path() + ": " + quote(entry.name);
  if (entry.size > max_bytes) {
    throw DataError(where + " has " + std::to_string(entry.size) +
                    " bytes, at most " + std::to_string(max_bytes) +
                    " are accepted");
  }
  if (!entry.stored() && entry.method != kDeflated) {
    throw DataError(where + " is packed with method " +
                    std::to_string(entry.method) +
                    "; only stored and deflated files can be read");
  }
  // Checked before memory is taken for either.
  if (entry.size / kMaxInflation > entry.packed_size ||
      entry.packed_size / 2 > entry.size + kMaxInflation) {
    throw DataError(where + " claims to unpack from " +
                    std::to_string(entry.packed_size) + " to " +
                    std::to_string(entry.size) + " bytes");
  }
  const uint64_t offset = data_offset(entry);
  std::string packed(static_cast<size_t>(entry.packed_size), '\0');
  file_.read_at(offset, packed.data(), packed.size());
  std::string contents = entry.stored()
                             ? std::move(packed)
                             : inflate_all(packed, entry.size, where);
  check_sum(entry, crc_of(0, contents.data(), contents.size()));
  return contents;
}

void ZipFile::check_sum(const ZipEntry& entry, uint32_t found) const {
  if (entry.crc == 0 || entry.crc == found) return;
  throw DataError(path() + ": damaged: " + quote(entry.name) +
                  " is not what was written: its checksum differs. Take "
                  "another copy of the file");
}

// Once for each entry: tensors may be parts of one that is large.
void ZipFile::check_stored(const ZipEntry& entry, uint64_t data) const {
  std::atomic<bool>& checked = checked_[index_.at(entry.name)];
  if (entry.crc == 0 || checked) return;
  std::string piece;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < entry.size; at += piece.size()) {
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    piece.resize(static_cast<size_t>(std::min(kPiece, entry.size - at)));
    file_.read_at(data + at, piece.data(), piece.size());
    crc = crc_of(crc, piece.data(), piece.size());
  }
  check_sum(entry, crc);
  checked = true;
}

void ZipFile::read_range(const ZipEntry& entry, uint64_t offset, void* out,
                         size_t size) const {
  KITH_ASSERT(entry.stored() && offset <= entry.size &&
              size <= entry.size - offset);
  const uint64_t data = data_offset(entry);
  file_.read_at(data + offset, out, size);
  if (size == entry.size) {
    check_sum(entry, crc_of(0, static_cast<const char*>(out), size));
  } else {
    check_stored(entry, data);
  }
}

}  // namespace kith
