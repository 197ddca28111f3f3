#include "kith/core/rng.h"

#include <bit>

#include "kith/core/error.h"

namespace kith {
namespace {

uint64_t split_mix(uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(uint64_t seed, Stream stream, std::initializer_list<int64_t> keys) {
  // Each part of the key is absorbed after a full mix of what came before, so
  // (1, 2) and (2, 1) are unrelated.
  uint64_t state = seed;
  state = split_mix(state) ^ static_cast<uint64_t>(stream);
  for (int64_t key : keys) {
    state = split_mix(state) ^ static_cast<uint64_t>(key);
  }
  for (uint64_t& word : state_) word = split_mix(state);
}

uint64_t Rng::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Rng::below(uint64_t n) {
  KITH_ASSERT(n > 0);
  // Reject the few values that would make small results more likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
  uint64_t value = next();
  while (value >= limit) value = next();
  return value % n;
}

int64_t Rng::between(int64_t lo, int64_t hi) {
  return lo + static_cast<int64_t>(below(static_cast<uint64_t>(hi - lo) + 1));
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

}  // namespace kith
