#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kith/data/data_set.h"
#include "kith/report/insight.h"

namespace kith {

/// The picture as "data:image/...": JPEG, or PNG where that is shorter, as it
/// is for drawings.
std::string picture_uri(const Image& image);

/// The pictures at some positions of a data set, each with its longer side at
/// most `side` pixels: never enlarged. Those that cannot be read are plain grey
/// squares; one warning tells how many, and the first one's error.
std::vector<Image> small_pictures(const DataSet& data,
                                  const std::vector<int64_t>& items, int side);

/// Gives pictures of a data set their places in an album, each one place
/// however often it is asked for.
class Thumbnails {
 public:
  /// Keeps a reference to the data set.
  Thumbnails(const DataSet& data, int side) : data_(data), side_(side) {}

  /// The album's place of the picture at a position of the data set's list.
  size_t place(int64_t item);

  /// Everything that has a place, loaded and made small.
  Album album() const;

 private:
  const DataSet& data_;
  int side_;
  std::vector<int64_t> items_;  ///< By place.
  std::unordered_map<int64_t, size_t> places_;
};

/// The pictures in square cells of `cell` pixels, by rows in their order, each
/// in the middle of its cell on white. Empty without items.
PictureSheet picture_sheet(const DataSet& data,
                           const std::vector<int64_t>& items, int cell);

}  // namespace kith
