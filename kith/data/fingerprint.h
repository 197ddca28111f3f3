#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "kith/core/progress.h"
#include "kith/data/data_set.h"
#include "kith/image/image.h"

namespace kith {

/// What a picture looks like, small enough to compare all pictures of two
/// sets: its grey thumbnail and a hash of it. Of the pixels alone, so it finds
/// a picture again after re-encoding, rescaling or a slight change of
/// brightness, whatever a model thinks of it. Crops, mirror images and
/// rotations are other pictures.
struct Fingerprint {
  static constexpr int kWidth = 17;
  static constexpr int kHeight = 16;

  /// Difference hash: bit 16 y + x says that the thumbnail is brighter at
  /// (x + 1, y) than at (x, y), by more than 3 levels of grey, so that the
  /// noise of an even background sets no bits.
  std::array<uint64_t, 4> bits = {};
  std::array<uint8_t, size_t{kWidth}* kHeight> grey = {};
  /// The thumbnail deviates by less than 4 levels from its mean: a picture
  /// that shows nothing, which would resemble every other such picture.
  bool flat = false;
};

Fingerprint fingerprint(const Image& image);

/// Of the pictures at these positions of the list, loaded by `threads` threads.
/// Of several pictures that cannot be read, the first one's error is thrown.
std::vector<Fingerprint> fingerprints(const DataSet& data,
                                      const std::vector<int64_t>& indices,
                                      int64_t threads, Progress& progress);

/// Bits that differ, 0 to 256.
inline int hash_distance(const std::array<uint64_t, 4>& a,
                         const std::array<uint64_t, 4>& b) {
  return std::popcount(a[0] ^ b[0]) + std::popcount(a[1] ^ b[1]) +
         std::popcount(a[2] ^ b[2]) + std::popcount(a[3] ^ b[3]);
}

/// Pearson's correlation of the thumbnails, which no change of brightness or
/// contrast alters; 0 if one of them is constant.
double thumbnail_correlation(const Fingerprint& a, const Fingerprint& b);

}  // namespace kith
