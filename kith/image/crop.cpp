#include "kith/image/crop.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kith/core/error.h"

namespace kith {
namespace {

int centre_offset(int outer, int inner) {
  const int margin = outer - inner;
  const int half = margin / 2;  // towards 0: floors the part that sticks out
  const bool to_even = margin > 0 && margin % 2 == 1 && half % 2 == 1;
  return half + (to_even ? 1 : 0);
}

// The largest box in the centre whose ratio is in the range.
Box fallback_box(int width, int height, const RandomBoxRange& range) {
  const double ratio = static_cast<double>(width) / height;
  double w = width;
  double h = height;
  if (ratio < range.ratio[0]) {
    h = std::max(1.0, std::nearbyint(width / range.ratio[0]));
  } else if (ratio > range.ratio[1]) {
    w = std::max(1.0, std::nearbyint(height * range.ratio[1]));
  }
  const int64_t left = (width - static_cast<int64_t>(w)) / 2;
  const int64_t top = (height - static_cast<int64_t>(h)) / 2;
  return {left, top, left + static_cast<int64_t>(w),
          top + static_cast<int64_t>(h)};
}

}  // namespace

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

Image crop(const Image& image, const Box& box) {
  KITH_ASSERT(box.left <= box.right && box.top <= box.bottom);
  Image result(static_cast<int>(box.right - box.left),
               static_cast<int>(box.bottom - box.top), image.channels);
  const int64_t left = std::max<int64_t>(box.left, 0);
  const int64_t right = std::min<int64_t>(box.right, image.width);
  if (left >= right) return result;
  const auto bytes = static_cast<size_t>((right - left) * image.channels);
  const int64_t top = std::max<int64_t>(box.top, 0);
  const int64_t bottom = std::min<int64_t>(box.bottom, image.height);
  for (int64_t y = top; y < bottom; ++y) {
    std::memcpy(result.row(static_cast<int>(y - box.top)) +
                    (left - box.left) * image.channels,
                image.row(static_cast<int>(y)) + left * image.channels, bytes);
  }
  return result;
}

Box centre_box(int image_width, int image_height, int width, int height) {
  const int left = centre_offset(image_width, width);
  const int top = centre_offset(image_height, height);
  return {left, top, left + width, top + height};
}

Box random_box(int width, int height, const RandomBoxRange& range, Rng& rng) {
  constexpr int kTries = 10;
  const double area = static_cast<double>(width) * height;
  const double low = std::log(range.ratio[0]);
  const double high = std::log(range.ratio[1]);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * rng.uniform(range.scale[0], range.scale[1]);
    const double ratio = std::exp(rng.uniform(low, high));
    const double w = std::nearbyint(std::sqrt(target * ratio));
    const double h = std::nearbyint(std::sqrt(target / ratio));
    if (w < 1 || w > width || h < 1 || h > height) continue;
    const int64_t top = rng.between(0, height - static_cast<int64_t>(h));
    const int64_t left = rng.between(0, width - static_cast<int64_t>(w));
    return {left, top, left + static_cast<int64_t>(w),
            top + static_cast<int64_t>(h)};
  }
  return fallback_box(width, height, range);
}

}  // namespace kith
