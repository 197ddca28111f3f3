#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace kith {

/// Fixed-point length of one pixel. Drawing uses integers only, so that every
/// machine and every compiler makes the same pixels.
inline constexpr int64_t kPixelUnit = 1024;

/// A position in units of 1 / kPixelUnit pixel; (0, 0) is the top left corner.
struct Point {
  int64_t x = 0;
  int64_t y = 0;
};

/// One movement of the pen: a cubic Bezier curve.
using Stroke = std::array<Point, 4>;

/// Straight pieces a stroke is cut into.
inline constexpr int kStrokePieces = 16;

/// The points of the stroke at t = i / kStrokePieces.
std::array<Point, kStrokePieces + 1> flatten(const Stroke& stroke);

/// How much ink lies on every pixel of a square: 0 (none) to 255 (covered).
class InkLayer {
 public:
  explicit InkLayer(int size);

  /// Draws with a round pen whose radius (in fixed point, at least half a
  /// pixel) goes evenly from `first` to `last`. Strokes that cross do not add
  /// up. What lies outside the square is cut off.
  void draw(const Stroke& stroke, int64_t first, int64_t last);

  /// One pass of the 3 x 3 binomial filter. No ink outside the square.
  void blur();

  const std::vector<uint8_t>& ink() const { return ink_; }

 private:
  void draw_piece(Point from, Point to, int64_t radius);

  int size_;
  std::vector<uint8_t> ink_;  // [size, size]
};

}  // namespace kith
