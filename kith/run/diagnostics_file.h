#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kith {

/// What diagnostics.json of an evaluation says of test images that are near
/// duplicates of training images.
struct StoredDuplicates {
  struct Pair {
    std::string train;  ///< Path of the image.
    std::string train_class;
    std::string test;
    std::string test_class;
    int64_t distance = 0;  ///< Bits of the hashes that differ.
  };

  std::string rule;   ///< When two images are near duplicates.
  int64_t count = 0;  ///< Pairs, of which the first are listed.
  int64_t test_images = 0;
  int64_t train_images = 0;
  std::vector<Pair> pairs;
};

/// None if the file says nothing of them. DataError, which names the file, if
/// it is not a diagnostics.json that kith eval writes.
std::optional<StoredDuplicates> read_near_duplicates(const std::string& path);

}  // namespace kith
