#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kith/data/corruption.h"

namespace kith {
namespace {

struct DropoutOptions {
  double max_share = 0.05;
  std::vector<double> cells = {0.02, 0.25};

  void describe(OptionSet& set) {
    set.add("max_share", max_share,
            "The share that is dropped is uniform from 0 to this.")
        .range(0, 1);
    set.add("cells", cells,
            "Least and most size of the coarse picture, as a share of each "
            "side.")
        .range(0, 1);
  }
};

/// Coarse dropout. The picture is divided into a coarse grid; each cell turns
/// black with probability p ~ U(0, max_share), drawn once per picture. The
/// number of rows is the height times a share that is uniform in `cells`, the
/// number of columns likewise with its own draw; at least three each, as
/// imgaug's CoarseDropout, where the picture has as many pixels. The
/// publication gives only p; `cells` is the range in imgaug's own examples.
class Dropout final : public Corruption {
 public:
  static constexpr const char* kSummary = "black rectangles on a coarse grid";
  using Options = DropoutOptions;

  explicit Dropout(const Options& options)
      : max_share_(options.max_share),
        cells_(range_of(options.cells, "dropout", "cells")) {}

  Image apply(const Image& image, Rng& rng) const override {
    const double share = rng.uniform(0.0, max_share_);
    const int rows = cell_count(image.height, rng);
    const int columns = cell_count(image.width, rng);
    Image result = image;
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        if (rng.uniform() >= share) continue;
        blacken(
            result,
            {edge(column, columns, image.width),
             edge(column + 1, columns, image.width)},
            {edge(row, rows, image.height), edge(row + 1, rows, image.height)});
      }
    }
    return result;
  }

 private:
  using Interval = std::array<int, 2>;  // [first, end)

  int cell_count(int side, Rng& rng) const {
    const double count = std::round(rng.uniform(cells_[0], cells_[1]) * side);
    return std::min(side, std::max(3, static_cast<int>(count)));
  }

  // The first pixel of a cell.
  static int edge(int cell, int count, int side) {
    return static_cast<int>(int64_t{cell} * side / count);
  }

  static void blacken(Image& image, const Interval& x, const Interval& y) {
    for (int row = y[0]; row < y[1]; ++row) {
      std::fill_n(image.row(row) + std::ptrdiff_t{x[0]} * image.channels,
                  (x[1] - x[0]) * image.channels, uint8_t{0});
    }
  }

  double max_share_;
  std::array<double, 2> cells_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "dropout", Dropout);

}  // namespace kith
