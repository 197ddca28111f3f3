#include "kith/io/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace kith {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82F63B78;
constexpr uint32_t kMask = 0xA282EAD8;

constexpr size_t kWord = 8;

/// tables[0] has the remainders of all bytes, tables[i] of those that i zeros
/// follow: eight bytes are taken at a time.
using Tables = std::array<std::array<uint32_t, 256>, kWord>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? kReflectedPolynomial : 0);
    }
    tables[0][byte] = rest;
  }
  for (size_t i = 1; i < kWord; ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t rest = tables[i - 1][byte];
      tables[i][byte] = (rest >> 8) ^ tables[0][rest & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

static_assert(std::endian::native == std::endian::little,
              "words are read as they lie in memory");

uint64_t word_at(const char* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, kWord);
  return word;
}

uint32_t add_byte(uint32_t crc, char byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
}

uint32_t add_words(uint32_t crc, const char* bytes, size_t words) {
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = word_at(bytes + i * kWord) ^ crc;
    crc = 0;
    for (size_t byte = 0; byte < kWord; ++byte) {
      crc ^= kTables[kWord - 1 - byte][(word >> (8 * byte)) & 0xFF];
    }
  }
  return crc;
}

#ifdef __x86_64__
/// The processor's own instruction, of SSE 4.2.
__attribute__((target("sse4.2"))) uint32_t add_words_fast(uint32_t crc,
                                                          const char* bytes,
                                                          size_t words) {
  uint64_t wide = crc;
  for (size_t i = 0; i < words; ++i) {
    wide = __builtin_ia32_crc32di(wide, word_at(bytes + i * kWord));
  }
  return static_cast<uint32_t>(wide);
}
#endif

using AddWords = uint32_t (*)(uint32_t, const char*, size_t);

AddWords choose_add_words() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return add_words_fast;
#endif
  return add_words;
}

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t before) {
  static const AddWords add = choose_add_words();
  const size_t words = bytes.size() / kWord;
  uint32_t crc = add(~before, bytes.data(), words);
  for (const char byte : bytes.substr(words * kWord)) {
    crc = add_byte(crc, byte);
  }
  return ~crc;
}

uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + kMask;
}

}  // namespace kith
