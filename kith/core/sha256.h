#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kith {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces: the name of contents, the
/// same as sha256sum gives.
class Sha256 {
 public:
  void add(const void* data, size_t size);

  /// 64 hexadecimal digits of everything added so far.
  std::string hex() const;

 private:
  void add_block(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                    0xa54ff53a, 0x510e527f, 0x9b05688c,
                                    0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_ = {};  ///< The first bytes of a block.
  uint64_t size_ = 0;                     ///< Bytes added.
};

}  // namespace kith
