#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/data/image_list.h"

namespace kith {

/// Which line of which file named each image of a list, in eight bytes an
/// image, so that lists of millions can be checked.
class ItemSources {
 public:
  /// The next image of the list was named there. Called once for each.
  void add(const std::string& file, int64_t line);

  /// "file:line" of an image.
  std::string where(size_t position) const;

  /// DataError with both places if two images have the same path.
  void check_once(const ImageList& list) const;

 private:
  struct Place {
    uint32_t file = 0;  ///< In files_.
    uint32_t line = 0;
  };

  std::vector<std::string> files_;
  std::vector<Place> places_;
};

}  // namespace kith
