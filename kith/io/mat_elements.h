#pragma once

// Inside of mat.cpp: the pieces a MATLAB 5 file is made of.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace kith::mat {

// The format: "MAT-File Format", MathWorks, chapter 1 (level 5 MAT-files).
enum DataType : uint32_t {
  kInt8 = 1,
  kUInt8 = 2,
  kInt16 = 3,
  kUInt16 = 4,
  kInt32 = 5,
  kUInt32 = 6,
  kSingle = 7,
  kDouble = 9,
  kInt64 = 12,
  kUInt64 = 13,
  kMatrix = 14,
  kCompressed = 15,
  kUtf8 = 16,
  kUtf16 = 17,
  kUtf32 = 18
};

constexpr size_t kTagBytes = 8;

/// The value at some offset, which must lie in the bytes.
template <typename T>
T load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// A piece of a file: its type and bytes.
struct Element {
  uint32_t type = 0;
  std::string_view data;
};

/// Walks the elements that lie one after the other in some bytes.
class Elements {
 public:
  Elements(std::string_view bytes, const std::string& file)
      : bytes_(bytes), file_(file) {}

  bool done() const { return bytes_.empty(); }
  size_t bytes_left() const { return bytes_.size(); }

  /// DataError at the end, or if the element is longer than what is left.
  Element next();

 private:
  [[noreturn]] void truncated() const;

  std::string_view bytes_;
  const std::string& file_;
};

/// zlib's data unpacked; DataError beyond `max_bytes`, which bounds the memory
/// taken too.
std::string inflate_bytes(std::string_view packed, uint64_t max_bytes,
                          const std::string& file);

/// Bytes of a number of this type; 0 if it is none.
size_t number_size(uint32_t type);

/// An element of numbers as doubles; nothing if it holds no numbers.
std::vector<double> to_numbers(const Element& element);

/// An element of text as UTF-8; DataError if it holds none.
std::string to_text(const Element& element, const std::string& file);

}  // namespace kith::mat
