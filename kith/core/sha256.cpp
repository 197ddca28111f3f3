#include "kith/core/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kith {
namespace {

constexpr size_t kBlock = 64;

/// First 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 |
         uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

std::array<uint32_t, 64> schedule_of(const uint8_t* block) {
  std::array<uint32_t, 64> w = {};
  for (size_t i = 0; i < 16; ++i) w[i] = big_endian(block + 4 * i);
  for (size_t i = 16; i < w.size(); ++i) {
    const uint32_t a = w[i - 15];
    const uint32_t b = w[i - 2];
    const uint32_t s0 = std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3);
    const uint32_t s1 = std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  return w;
}

}  // namespace

void Sha256::add_block(const uint8_t* block) {
  const std::array<uint32_t, 64> w = schedule_of(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < w.size(); ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> sums = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < sums.size(); ++i) state_[i] += sums[i];
}

void Sha256::add(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const size_t used = size_ % kBlock;
    if (used == 0 && size >= kBlock) {  // straight from where they are
      add_block(bytes);
      size_ += kBlock;
      bytes += kBlock;
      size -= kBlock;
      continue;
    }
    const size_t count = std::min(size, kBlock - used);
    std::memcpy(pending_.data() + used, bytes, count);
    size_ += count;
    bytes += count;
    size -= count;
    if (used + count == kBlock) add_block(pending_.data());
  }
}

std::string Sha256::hex() const {
  // A one bit, zeros up to 8 bytes before the end of a block, the bit count.
  Sha256 closed = *this;
  std::array<uint8_t, 2 * kBlock> tail = {0x80};
  const size_t used = size_ % kBlock;
  const size_t length = (used < kBlock - 8 ? kBlock : 2 * kBlock) - used;
  for (size_t i = 0; i < 8; ++i) {
    tail[length - 1 - i] = static_cast<uint8_t>((size_ * 8) >> (8 * i));
  }
  closed.add(tail.data(), length);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const uint32_t word : closed.state_) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      text += kDigits[(word >> shift) & 15];
    }
  }
  return text;
}

}  // namespace kith
