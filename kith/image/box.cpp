#include "kith/image/box.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/image/crop.h"

namespace kith {

std::string describe(const Box& box) {
  const auto range = [](int64_t first, int64_t end) {
    return std::to_string(first) + " to " + std::to_string(end - 1);
  };
  return "columns " + range(box.left, box.right) + ", rows " +
         range(box.top, box.bottom);
}

Image crop_to_box(const Image& image, const Box& box,
                  const std::string& where) {
  const int64_t width = image.width;
  const int64_t height = image.height;
  const Box inside = {std::clamp<int64_t>(box.left, 0, width),
                      std::clamp<int64_t>(box.top, 0, height),
                      std::clamp<int64_t>(box.right, 0, width),
                      std::clamp<int64_t>(box.bottom, 0, height)};
  if (inside.empty()) {
    throw DataError(where + ": the box (" + describe(box) +
                    ") holds nothing of the picture of " +
                    std::to_string(width) + " x " + std::to_string(height) +
                    " pixels; correct it, or use 'crop_boxes: false'");
  }
  return crop(image, inside);
}

}  // namespace kith
