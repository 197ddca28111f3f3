#include "kith/eval/examples_picture.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kith/core/error.h"
#include "kith/image/colour.h"
#include "kith/image/picture_grid.h"
#include "kith/image/resize.h"

namespace kith {
namespace {

using Colour = std::array<uint8_t, 3>;

// Of different lightness too, for those who cannot tell the hues.
constexpr Colour kRight = {60, 190, 90};
constexpr Colour kWrong = {185, 20, 30};
constexpr Colour kWhite = {255, 255, 255};

/// A square of the colour with the picture, as large as fits and centred on
/// white, within a frame.
Image framed(const Image& picture, const Colour& colour, int cell) {
  const int frame = std::max(1, cell / 16);
  const int inside = cell - 2 * frame;
  const double scale =
      static_cast<double>(inside) / std::max(picture.width, picture.height);
  const auto scaled = [&](int side) {
    return std::clamp(static_cast<int>(side * scale + 0.5), 1, inside);
  };
  const Image small = to_channels(
      resize(picture, scaled(picture.width), scaled(picture.height)), 3);
  Image square(cell, cell, 3);
  const auto fill = [&square](int begin, int end, const Colour& with) {
    for (int y = begin; y < end; ++y) {
      for (int x = begin; x < end; ++x) {
        std::copy(with.begin(), with.end(), square.row(y) + 3 * x);
      }
    }
  };
  fill(0, cell, colour);
  fill(frame, cell - frame, kWhite);
  const int left = (cell - small.width) / 2;
  const int top = (cell - small.height) / 2;
  for (int y = 0; y < small.height; ++y) {
    std::copy_n(small.row(y), 3 * small.width, square.row(top + y) + 3 * left);
  }
  return square;
}

}  // namespace

Image examples_picture(const DataSet& data, const std::vector<int64_t>& queries,
                       const std::vector<std::vector<NeighbourItem>>& found,
                       int cell) {
  KITH_ASSERT(!queries.empty() && queries.size() == found.size() && cell >= 8);
  std::vector<std::vector<Image>> rows;
  for (size_t i = 0; i < queries.size(); ++i) {
    std::vector<Image> row;
    row.push_back(framed(data.load(queries[i]), kWhite, cell));
    for (const NeighbourItem& item : found[i]) {
      row.push_back(
          framed(data.load(item.item), item.right ? kRight : kWrong, cell));
    }
    rows.push_back(std::move(row));
  }
  return picture_grid(rows, cell);
}

}  // namespace kith
