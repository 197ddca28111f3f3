#include "kith/image/stroke.h"

#include <algorithm>
#include <cstddef>

#include "kith/core/error.h"

namespace kith {
namespace {

struct Span {
  int64_t first;
  int64_t last;
};

// The pixels whose centres may lie within `reach` of [a, b], inside the square.
Span pixels_near(int64_t a, int64_t b, int64_t reach, int size) {
  const int64_t low = std::min(a, b) - reach;
  const int64_t high = std::max(a, b) + reach;
  return {std::max<int64_t>(0, low / kPixelUnit - 1),
          std::min<int64_t>(size - 1, high / kPixelUnit)};
}

}  // namespace

std::array<Point, kStrokePieces + 1> flatten(const Stroke& stroke) {
  constexpr int64_t kN = kStrokePieces;
  std::array<Point, kStrokePieces + 1> points;
  for (int64_t i = 0; i <= kN; ++i) {
    const int64_t j = kN - i;
    const int64_t w0 = j * j * j;
    const int64_t w1 = 3 * j * j * i;
    const int64_t w2 = 3 * j * i * i;
    const int64_t w3 = i * i * i;
    points[static_cast<size_t>(i)] = {(w0 * stroke[0].x + w1 * stroke[1].x +
                                       w2 * stroke[2].x + w3 * stroke[3].x) /
                                          (kN * kN * kN),
                                      (w0 * stroke[0].y + w1 * stroke[1].y +
                                       w2 * stroke[2].y + w3 * stroke[3].y) /
                                          (kN * kN * kN)};
  }
  return points;
}

InkLayer::InkLayer(int size)
    : size_(size),
      ink_(static_cast<size_t>(size) * static_cast<size_t>(size)) {}

void InkLayer::draw(const Stroke& stroke, int64_t first, int64_t last) {
  KITH_ASSERT(std::min(first, last) >= kPixelUnit / 2);
  const auto points = flatten(stroke);
  for (int64_t i = 0; i < kStrokePieces; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t radius = first + (last - first) * i / kStrokePieces;
    draw_piece(points[at], points[at + 1], radius);
  }
}

void InkLayer::draw_piece(Point from, Point to, int64_t radius) {
  const int64_t outer = radius + kPixelUnit / 2;
  const int64_t inner = radius - kPixelUnit / 2;
  // The soft edge is linear in the squared distance, which needs no root.
  const int64_t outer_sq = outer * outer;
  const int64_t slope = (int64_t{255} << 32) / (outer_sq - inner * inner);
  const int64_t dx = to.x - from.x;
  const int64_t dy = to.y - from.y;
  const int64_t length_sq = dx * dx + dy * dy;
  // Projections onto the piece multiply by this instead of dividing.
  const int64_t inverse =
      length_sq > 0 ? (int64_t{1} << 46) / length_sq : int64_t{0};
  const Span rows = pixels_near(from.y, to.y, outer, size_);
  const Span columns = pixels_near(from.x, to.x, outer, size_);
  for (int64_t row = rows.first; row <= rows.last; ++row) {
    uint8_t* line = ink_.data() + row * size_;
    const int64_t py = row * kPixelUnit + kPixelUnit / 2 - from.y;
    for (int64_t column = columns.first; column <= columns.last; ++column) {
      const int64_t px = column * kPixelUnit + kPixelUnit / 2 - from.x;
      const int64_t along =
          std::clamp<int64_t>(px * dx + py * dy, 0, length_sq);
      const int64_t t = (along * inverse) >> 30;  // 16 fractional bits
      const int64_t ex = px - ((t * dx) >> 16);
      const int64_t ey = py - ((t * dy) >> 16);
      const int64_t depth = outer_sq - (ex * ex + ey * ey);
      if (depth <= 0) continue;
      const int64_t ink = std::min<int64_t>(255, (depth * slope) >> 32);
      line[column] = std::max(line[column], static_cast<uint8_t>(ink));
    }
  }
}

void InkLayer::blur() {
  const auto size = static_cast<size_t>(size_);
  // A frame of zeros around the square keeps the loops free of branches.
  const size_t stride = size + 2;
  std::vector<uint16_t> padded(stride * stride);
  for (size_t y = 0; y < size; ++y) {
    std::copy_n(&ink_[y * size], size, &padded[(y + 1) * stride + 1]);
  }
  std::vector<uint16_t> down(stride);
  for (size_t y = 0; y < size; ++y) {
    const uint16_t* above = &padded[y * stride];
    const uint16_t* here = above + stride;
    const uint16_t* below = here + stride;
    for (size_t x = 0; x < stride; ++x) {
      down[x] = static_cast<uint16_t>(above[x] + 2 * here[x] + below[x]);
    }
    for (size_t x = 0; x < size; ++x) {
      const int sum = down[x] + 2 * down[x + 1] + down[x + 2];
      ink_[y * size + x] = static_cast<uint8_t>((sum + 8) / 16);
    }
  }
}

}  // namespace kith
