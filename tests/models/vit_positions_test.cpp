#include "kith/models/vit_positions.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// [1, F, rows, columns] of positions behind a prefix.
Tensor grid_of(const Tensor& positions, int64_t prefix, int64_t rows,
               int64_t columns) {
  return positions.slice(1, prefix).transpose(1, 2).reshape(
      {1, positions.size(2), rows, columns});
}

TEST(ResizePositions, AreThoseOfLibTorchAndKeepThePrefix) {
  const Tensor positions = random_normal({1, 2 + 9, 4}, 1, at::kFloat);
  const Tensor grid = grid_of(positions, 2, 3, 3);
  for (const auto& [rows, columns] :
       {std::pair(7, 7), std::pair(2, 5), std::pair(3, 6), std::pair(1, 1)}) {
    const auto resized = [&, rows = rows,
                          columns = columns](const char* method) {
      const Tensor all = resize_positions(positions, 2, rows, columns, method);
      EXPECT_TRUE(torch::equal(all.slice(1, 0, 2), positions.slice(1, 0, 2)));
      return grid_of(all, 2, rows, columns);
    };
    EXPECT_LE(
        max_difference(resized("plain"),
                       at::upsample_bicubic2d(grid, {rows, columns}, false)),
        1e-5);
    EXPECT_LE(
        max_difference(resized("antialias"), at::_upsample_bicubic2d_aa(
                                                 grid, {rows, columns}, false)),
        1e-5);
    EXPECT_LE(max_difference(resized("offset"),
                             at::upsample_bicubic2d(grid, {rows, columns},
                                                    false, (rows + 0.1) / 3,
                                                    (columns + 0.1) / 3)),
              1e-5);
  }
}

TEST(ResizePositions, OfTheSameGridAreTheSame) {
  const Tensor positions = random_normal({1, 10, 4}, 1, at::kFloat);
  for (const char* method : {"plain", "antialias", "offset"}) {
    EXPECT_TRUE(
        resize_positions(positions, 1, 3, 3, method).is_same(positions));
  }
}

TEST(ResizePositions, GiveTheirGradientOn) {
  const Tensor positions = random_normal({1, 5, 3}, 1).requires_grad_();
  const Tensor weights = random_normal({1, 1 + 6, 3}, 2);
  (resize_positions(positions, 1, 2, 3, "plain") * weights).sum().backward();
  const double step = 1e-4;
  for (int64_t i = 0; i < positions.numel(); ++i) {
    const auto at = [&](double change) {
      Tensor moved = positions.detach().clone();
      moved.view(-1)[i] += change;
      return (resize_positions(moved, 1, 2, 3, "plain") * weights)
          .sum()
          .item<double>();
    };
    EXPECT_NEAR((at(step) - at(-step)) / (2 * step),
                positions.grad().view(-1)[i].item<double>(), 1e-7);
  }
}

TEST(GridSide, IsThatOfASquare) {
  EXPECT_EQ(grid_side(1), 1);
  EXPECT_EQ(grid_side(196), 14);
  EXPECT_EQ(grid_side(197), 0);
  EXPECT_EQ(grid_side(0), 0);
  EXPECT_EQ(grid_side(-4), 0);
}

// Plain formula: pairs (i, i + d/2) turn by 2 pi place / period.
TEST(RotaryAngles, TurnPairsByTheirPlace) {
  constexpr int64_t kRows = 2, kColumns = 3, kWidth = 8, kPrefix = 2;
  const RotaryAngles rotary(kRows, kColumns, kWidth, 100, torch::kDouble);
  const Tensor x = random_normal({1, 1, kPrefix + kRows * kColumns, kWidth}, 1);
  const Tensor y = rotary(x);
  EXPECT_TRUE(torch::equal(y.slice(2, 0, kPrefix), x.slice(2, 0, kPrefix)));
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      const int64_t token = kPrefix + row * kColumns + column;
      const double places[] = {(2 * row + 1.0) / kRows - 1,
                               (2 * column + 1.0) / kColumns - 1};
      for (int64_t i = 0; i < kWidth / 2; ++i) {
        const double period = std::pow(100.0, (i % 2) / 2.0);
        const double angle = 2 * M_PI * places[i / 2] / period;
        const auto at = [&](const Tensor& t, int64_t j) {
          return t[0][0][token][j].item<double>();
        };
        EXPECT_NEAR(at(y, i),
                    at(x, i) * std::cos(angle) - at(x, i + 4) * std::sin(angle),
                    1e-12);
        EXPECT_NEAR(at(y, i + 4),
                    at(x, i + 4) * std::cos(angle) + at(x, i) * std::sin(angle),
                    1e-12);
      }
    }
  }
}

TEST(RotaryAngles, LeaveAllWithoutOne) {
  const Tensor x = torch::ones({1, 1, 3, 4});
  EXPECT_TRUE(RotaryAngles()(x).is_same(x));
}

}  // namespace
}  // namespace kith
