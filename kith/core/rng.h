#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace kith {

/// What a stream of random numbers is for. Part of the key, so that two users
/// with otherwise equal keys never share numbers. Never renumber: published
/// seeds depend on the values.
enum class Stream : uint64_t {
  kGlyphClass = 1,
  kGlyphImage = 2,
  kSampler = 3,
  kAugment = 4,
  kMiner = 5,
  kInit = 6,
  kStep = 7,
  kReport = 8,
  kSimix = 9,
  kMixup = 10,
  kLossInit = 11,
  kLossDraw = 12,
  kCorrupt = 13,
  kCluster = 14,
  kBootstrap = 15,
  kProtocol = 16,
  kSearch = 17,
  kLandmark = 18,
  kLandmarkPhoto = 19,
  kIndex = 20,
};

/// Random numbers keyed by (seed, stream, keys...), for example
/// Rng(seed, Stream::kAugment, {epoch, step, position}). The same key gives
/// the same numbers on every machine, in every thread and in any order of use,
/// so nothing has to be saved to resume a run.
///
/// The key is hashed with SplitMix64 into the state of a xoshiro256**
/// generator. Only integer arithmetic, normal() excepted; no
/// std::distribution, whose results differ between standard libraries.
class Rng {
 public:
  Rng(uint64_t seed, Stream stream, std::initializer_list<int64_t> keys = {});

  uint64_t next();

  /// Uniform in [0, n), without bias. n > 0.
  uint64_t below(uint64_t n);

  /// Uniform integer in [lo, hi], both included.
  int64_t between(int64_t lo, int64_t hi);

  /// Uniform in [0, 1) with 53 bits.
  double uniform();
  double uniform(double lo, double hi) { return lo + (hi - lo) * uniform(); }

  /// Standard normal: mean 0, deviation 1. Marsaglia's polar method makes two
  /// independent numbers from a uniform point of the unit disc; the second is
  /// kept for the next call. Uses std::log: between mathematical libraries the
  /// last bit may differ.
  double normal();

  /// Fisher-Yates.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[below(i)]);
    }
  }

 private:
  uint64_t state_[4];
  std::optional<double> spare_normal_;
};

}  // namespace kith
