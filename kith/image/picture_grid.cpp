#include "kith/image/picture_grid.h"

#include <algorithm>
#include <cmath>

#include "kith/core/error.h"
#include "kith/image/colour.h"
#include "kith/image/resize.h"

namespace kith {
namespace {

constexpr int kGap = 4;

int extent(int cells, int cell) { return kGap + cells * (cell + kGap); }

// The picture as RGB with its longer side `cell`.
Image fitted(const Image& picture, int cell) {
  const double scale =
      static_cast<double>(cell) / std::max(picture.width, picture.height);
  const auto scaled = [&](int side) {
    return std::max(1, static_cast<int>(std::lround(side * scale)));
  };
  return to_channels(
      resize(picture, scaled(picture.width), scaled(picture.height)), 3);
}

void paste(const Image& picture, int left, int top, Image& target) {
  for (int y = 0; y < picture.height; ++y) {
    std::copy_n(picture.row(y), picture.width * 3,
                target.row(top + y) + left * 3);
  }
}

}  // namespace

Image picture_grid(const std::vector<std::vector<Image>>& rows, int cell) {
  size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  KITH_ASSERT(columns > 0 && cell > 0);
  Image grid(extent(static_cast<int>(columns), cell),
             extent(static_cast<int>(rows.size()), cell), 3);
  std::fill(grid.pixels.begin(), grid.pixels.end(), uint8_t{255});
  int top = kGap;
  for (const auto& row : rows) {
    int left = kGap;
    for (const Image& picture : row) {
      if (!picture.pixels.empty()) {
        const Image small = fitted(picture, cell);
        paste(small, left + (cell - small.width) / 2,
              top + (cell - small.height) / 2, grid);
      }
      left += cell + kGap;
    }
    top += cell + kGap;
  }
  return grid;
}

}  // namespace kith
