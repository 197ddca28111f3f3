#include "kith/io/mat_elements.h"

#include <algorithm>
#include <new>

#include <zlib.h>

#include "kith/core/error.h"

namespace kith::mat {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (surrogate || code > 0x10ffff) code = 0xfffd;
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

std::string utf16_to_utf8(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    uint32_t code = load<uint16_t>(bytes, i);
    if (code >= 0xd800 && code < 0xdc00 && i + 3 < bytes.size()) {
      const uint32_t low = load<uint16_t>(bytes, i + 2);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i += 2;
      }
    }
    append_utf8(out, code);
  }
  return out;
}

template <typename T>
std::vector<double> to_numbers(std::string_view bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(T));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<double>(load<T>(bytes, i * sizeof(T)));
  }
  return numbers;
}

}  // namespace

Element Elements::next() {
  if (bytes_.size() < kTagBytes) truncated();
  Element element;
  element.type = load<uint32_t>(bytes_, 0);
  // An element of up to four bytes fits in its own tag.
  const size_t small = element.type >> 16;
  const size_t start = small > 0 ? 4 : kTagBytes;
  const size_t size = small > 0 ? small : load<uint32_t>(bytes_, 4);
  element.type &= 0xffff;
  if (size > (small > 0 ? size_t{4} : bytes_.size() - start)) truncated();
  element.data = bytes_.substr(start, size);
  // Elements start at multiples of 8 bytes, but compressed ones do not.
  const size_t used =
      small > 0
          ? kTagBytes
          : start + (element.type == kCompressed ? size : (size + 7) / 8 * 8);
  bytes_.remove_prefix(std::min(used, bytes_.size()));
  return element;
}

void Elements::truncated() const {
  throw DataError(file_ +
                  ": the MATLAB file is truncated or corrupt; get it again");
}

std::string inflate_bytes(std::string_view packed, uint64_t max_bytes,
                          const std::string& file) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  stream.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  std::vector<char> chunk(size_t{64} << 10);
  int status = Z_OK;
  while (status == Z_OK && out.size() <= max_bytes) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > max_bytes) {
    throw DataError(file + ": unpacks to more than " +
                    std::to_string(max_bytes) + " bytes");
  }
  if (status != Z_STREAM_END) {
    throw DataError(file + ": compressed data is damaged; get the file again");
  }
  return out;
}

size_t number_size(uint32_t type) {
  switch (type) {
    case kInt8:
    case kUInt8:
      return 1;
    case kInt16:
    case kUInt16:
      return 2;
    case kInt32:
    case kUInt32:
    case kSingle:
      return 4;
    case kDouble:
    case kInt64:
    case kUInt64:
      return 8;
    default:
      return 0;
  }
}

std::vector<double> to_numbers(const Element& element) {
  switch (element.type) {
    case kInt8:
      return to_numbers<int8_t>(element.data);
    case kUInt8:
      return to_numbers<uint8_t>(element.data);
    case kInt16:
      return to_numbers<int16_t>(element.data);
    case kUInt16:
      return to_numbers<uint16_t>(element.data);
    case kInt32:
      return to_numbers<int32_t>(element.data);
    case kUInt32:
      return to_numbers<uint32_t>(element.data);
    case kSingle:
      return to_numbers<float>(element.data);
    case kDouble:
      return to_numbers<double>(element.data);
    case kInt64:
      return to_numbers<int64_t>(element.data);
    case kUInt64:
      return to_numbers<uint64_t>(element.data);
    default:
      return {};
  }
}

std::string to_text(const Element& element, const std::string& file) {
  std::string text;
  switch (element.type) {
    case kUtf8:
      return std::string(element.data);
    case kUInt16:
    case kUtf16:
      return utf16_to_utf8(element.data);
    case kInt8:
    case kUInt8:
      for (const char c : element.data) {
        append_utf8(text, static_cast<unsigned char>(c));
      }
      return text;
    case kUtf32:
      for (size_t i = 0; i + 3 < element.data.size(); i += 4) {
        append_utf8(text, load<uint32_t>(element.data, i));
      }
      return text;
    default:
      throw DataError(file + ": corrupt MATLAB file (text of type " +
                      std::to_string(element.type) + "); get it again");
  }
}

}  // namespace kith::mat
