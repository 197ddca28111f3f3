#include "tests/fuzz/zip_repair.h"

#include <cstdint>
#include <cstring>

#include <zlib.h>

namespace kith {
namespace {

using std::string_literals::operator""s;

template <typename T>
T number_at(const std::string& bytes, size_t at) {
  T value = 0;
  if (at + sizeof value <= bytes.size()) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
  }
  return value;
}

void put(std::string& bytes, size_t at, uint32_t value) {
  if (at + sizeof value <= bytes.size()) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

uint32_t crc_of(const std::string& data) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(data.data()),
            static_cast<uInt>(data.size())));
}

/// Up to 64 KiB of raw deflated data.
std::string inflated(const std::string& data) {
  z_stream stream{};
  inflateInit2(&stream, -15);
  std::string out(1 << 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

/// The entry that the directory has at `at`.
void repair_sum(std::string& bytes, size_t at) {
  const size_t header = number_at<uint32_t>(bytes, at + 42);
  const size_t data = header + 30 + number_at<uint16_t>(bytes, header + 26) +
                      number_at<uint16_t>(bytes, header + 28);
  if (data > bytes.size()) return;
  const std::string packed =
      bytes.substr(data, number_at<uint32_t>(bytes, at + 20));
  const bool stored = number_at<uint16_t>(bytes, at + 10) == 0;
  put(bytes, at + 16, crc_of(stored ? packed : inflated(packed)));
}

}  // namespace

std::string repair_zip(std::string bytes) {
  const size_t first = bytes.find("PK\1\2");
  const size_t end = bytes.rfind("PK\5\6");
  if (end == std::string::npos) return bytes;
  if (number_at<uint32_t>(bytes, end + 16) != ~0u) {
    const size_t begin = first == std::string::npos ? end : first;
    if (begin > end) return bytes;
    put(bytes, end + 12, static_cast<uint32_t>(end - begin));
    put(bytes, end + 16, static_cast<uint32_t>(begin));
  }
  for (size_t at = first; at < end; at = bytes.find("PK\1\2", at + 4)) {
    repair_sum(bytes, at);
  }
  return bytes;
}

std::vector<std::string> zip_words() {
  return {"PK\1\2", "PK\3\4",           "PK\5\6",      "PK\6\6",
          "PK\6\7", "\xff\xff\xff\xff", "\1\0\x18\0"s, "\x08\0"s};
}

}  // namespace kith
