#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "kith/core/file.h"

namespace kith {

/// Bytes taken from front to back, out of memory or out of a part of a file,
/// of which only a window is held. Taking more than there is throws DataError;
/// nothing is allocated before that is known.
class ByteStream {
 public:
  /// `name` stands in front of errors. The bytes must outlive the stream.
  ByteStream(std::string_view bytes, std::string name);

  /// The bytes [begin, end) of a file, which must outlive the stream.
  ByteStream(const FileReader& file, uint64_t begin, uint64_t end);

  const std::string& name() const { return name_; }

  /// Of the next byte, counted from the start of the bytes or of the file.
  uint64_t position() const { return window_end_ - (window_.size() - next_); }
  uint64_t remaining() const { return end_ - position(); }

  uint8_t byte();
  std::string take(uint64_t size);

  /// Up to the next line feed, which is taken but not returned.
  std::string line();

  /// A little-endian number.
  template <typename T>
  T number() {
    const std::string bytes = take(sizeof(T));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

 private:
  void fill();

  std::string name_;
  const FileReader* file_ = nullptr;
  std::string buffer_;
  std::string_view window_;  ///< Into the buffer, or all bytes in memory.
  size_t next_ = 0;          ///< In the window.
  uint64_t window_end_ = 0;  ///< Position of the first byte after the window.
  uint64_t end_ = 0;
};

}  // namespace kith
