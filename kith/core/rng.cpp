#include "kith/core/rng.h"

#include <bit>
#include <cmath>

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

double Rng::normal() {
  if (spare_normal_) {
    const double value = *spare_normal_;
    spare_normal_.reset();
    return value;
  }
  double x = 0.0;
  double y = 0.0;
  double square = 0.0;
  // pi / 4 of the points of the square lie in the disc; its centre has no
  // direction.
  do {
    x = uniform(-1.0, 1.0);
    y = uniform(-1.0, 1.0);
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  spare_normal_ = y * factor;
  return x * factor;
}

}  // namespace kith
