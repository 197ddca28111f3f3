#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kith/data/corruptions.h"
#include "kith/data/range_option.h"

namespace kith {
namespace {

int64_t side_of(double size, int64_t side) {
  return std::max<int64_t>(1, std::llround(size * static_cast<double>(side)));
}

void cut(Image& image, double size, Rng& rng) {
  const int64_t width = image.width;
  const int64_t height = image.height;
  const int64_t rows = side_of(size, height);
  const int64_t columns = side_of(size, width);
  const int64_t left = rng.between(0, width - columns);
  const int64_t top = rng.between(0, height - rows);
  for (int64_t y = top; y < top + rows; ++y) {
    std::fill_n(image.row(static_cast<int>(y)) + left * image.channels,
                columns * image.channels, uint8_t{128});
  }
}

int cell_count(const std::array<double, 2>& cells, int side, Rng& rng) {
  const double count = std::round(rng.uniform(cells[0], cells[1]) * side);
  return std::min(side, std::max(3, static_cast<int>(count)));
}

// The first pixel of a cell.
int cell_edge(int cell, int count, int side) {
  return static_cast<int>(int64_t{cell} * side / count);
}

using PixelInterval = std::array<int, 2>;  // [first, end)

void blacken(Image& image, const PixelInterval& x, const PixelInterval& y) {
  for (int row = y[0]; row < y[1]; ++row) {
    std::fill_n(image.row(row) + std::ptrdiff_t{x[0]} * image.channels,
                (x[1] - x[0]) * image.channels, uint8_t{0});
  }
}

}  // namespace

void CutoutOptions::describe(OptionSet& set) {
  set.add("count", count, "How many rectangles.").range(1, 100);
  set.add("size", size, "Sides of each, as a share of the picture's.")
      .range(0.001, 1);
}

CutoutCorruption::CutoutCorruption(Options options)
    : options_(checked(std::move(options), "cutout")) {}

Image CutoutCorruption::apply(const Image& image, Rng& rng) const {
  Image result = image;
  for (int64_t i = 0; i < options_.count; ++i) cut(result, options_.size, rng);
  return result;
}

void DropoutOptions::describe(OptionSet& set) {
  set.add("max_share", max_share,
          "The share that is dropped is uniform from 0 to this.")
      .range(0, 1);
  set.add("cells", cells,
          "Least and most size of the coarse picture, as a share of each "
          "side.")
      .range(0, 1);
}

DropoutCorruption::DropoutCorruption(Options options)
    : max_share_(checked(options, "dropout").max_share),
      cells_(range_of(options.cells, "dropout", "cells")) {}

Image DropoutCorruption::apply(const Image& image, Rng& rng) const {
  const double share = rng.uniform(0.0, max_share_);
  const int rows = cell_count(cells_, image.height, rng);
  const int columns = cell_count(cells_, image.width, rng);
  Image result = image;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      if (rng.uniform() >= share) continue;
      blacken(result,
              {cell_edge(column, columns, image.width),
               cell_edge(column + 1, columns, image.width)},
              {cell_edge(row, rows, image.height),
               cell_edge(row + 1, rows, image.height)});
    }
  }
  return result;
}

KITH_REGISTER(corruption_registry(), "cutout", CutoutCorruption);
KITH_REGISTER(corruption_registry(), "dropout", DropoutCorruption);

}  // namespace kith
