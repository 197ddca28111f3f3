#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/data/fingerprint.h"
#include "kith/data/image_list.h"

namespace kith {

/// Two pictures are near duplicates if at most this many bits of their hashes
/// differ and their thumbnails correlate at least this much.
///
/// Measured on 16 170 photographs of Cars196: 39 pairs of files with the same
/// pixels and 7 scaled or encoded again are found, and no other pair; nearest
/// to the thresholds, two black cars on white at 13 bits and 0.992. Of 800
/// photographs saved as JPEG of quality 50, halved, doubled or darkened by a
/// tenth, all are found again; brightened by a tenth, 99%: what is clipped at
/// white changes the correlation.
constexpr int kDuplicateBits = 40;
constexpr double kDuplicateCorrelation = 0.995;

struct DuplicatePair {
  int64_t train = 0;  ///< Positions in the vectors of fingerprints.
  int64_t test = 0;
  int distance = 0;  ///< Bits of the hashes that differ; the same file has 0.
};

struct NearDuplicates {
  std::vector<DuplicatePair> pairs;  ///< By distance, train and test position.
  int64_t count = 0;                 ///< All pairs, beyond the limit too.
  int64_t train_pictures = 0;        ///< Pictures with a duplicate.
  int64_t test_pictures = 0;
  int64_t train_flat = 0;  ///< Pictures that show nothing: not compared.
  int64_t test_flat = 0;
};

/// The near duplicates across two sets of pictures: of all, the first `limit`
/// in the order of NearDuplicates::pairs are kept.
///
/// Compares only pictures whose upper and lower halves differ in brightness by
/// about as much, which leaves out no pair: 60 000 times 60 000 photographs
/// take 5 s on one core.
NearDuplicates near_duplicates(const std::vector<Fingerprint>& train,
                               const std::vector<Fingerprint>& test,
                               int64_t limit);

/// {"rule": "...", "count": ..., "test_images": ..., "train_images": ...,
///  "test_flat": ..., "train_flat": ..., "listed": ..., "pairs": [{"distance":
///  0, "train": PATH, "train_class": NAME, "test": PATH, "test_class": NAME}]}
/// where `train` and `test` are the positions in the list that the fingerprints
/// were made of.
std::string near_duplicates_json(const NearDuplicates& found,
                                 const ImageList& list,
                                 const std::vector<int64_t>& train,
                                 const std::vector<int64_t>& test);

}  // namespace kith
