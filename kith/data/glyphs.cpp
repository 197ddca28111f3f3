#include "kith/data/glyphs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/rng.h"

namespace kith {
namespace {

/// Fixed-point length of one pixel. Drawing uses integers only, so that every
/// machine and every compiler makes the same pixels.
constexpr int64_t kPixelUnit = 1024;

/// A position in units of 1 / kPixelUnit pixel; (0, 0) is the top left corner.
struct Point {
  int64_t x = 0;
  int64_t y = 0;
};

/// One movement of the pen: a cubic Bezier curve.
using Stroke = std::array<Point, 4>;

/// Straight pieces a stroke is cut into.
constexpr int kStrokePieces = 16;

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

constexpr int64_t kOne = int64_t{1} << 16;  // fixed-point 1 of factors
constexpr int64_t kLongSide = 37 * kPixelUnit;
constexpr int64_t kShortSide = 25 * kPixelUnit;

using Character = std::vector<Stroke>;  // centred on (0, 0)

// Values near 0 are more likely: the sum of two uniform numbers.
int64_t spread(Rng& rng, int64_t limit) {
  const int64_t half = limit / 2;
  return rng.between(-half, half) + rng.between(-half, half);
}

Point random_point(Rng& rng) {
  constexpr int64_t kReach = 20 * kPixelUnit;
  return {rng.between(-kReach, kReach), rng.between(-kReach, kReach)};
}

// Somewhere to begin the next stroke: half of them touch an earlier one, as
// the strokes of real characters do.
Point random_start(Rng& rng, const Character& character) {
  if (character.empty() || rng.below(2) == 0) return random_point(rng);
  const auto points = flatten(character[rng.below(character.size())]);
  return points[rng.below(points.size())];
}

// Far enough from `start` for a stroke that matters.
Point random_end(Rng& rng, Point start) {
  constexpr int64_t kShortest = 16 * kPixelUnit;
  while (true) {
    const Point end = random_point(rng);
    const int64_t dx = end.x - start.x;
    const int64_t dy = end.y - start.y;
    if (dx * dx + dy * dy >= kShortest * kShortest) return end;
  }
}

// The point `along` of the way from a to b, moved sideways by `aside` times
// the distance (both in percent).
Point beside(Point a, Point b, int64_t along, int64_t aside) {
  const int64_t dx = b.x - a.x;
  const int64_t dy = b.y - a.y;
  return {a.x + (dx * along - dy * aside) / 100,
          a.y + (dy * along + dx * aside) / 100};
}

Stroke random_stroke(Rng& rng, const Character& character) {
  const Point start = random_start(rng, character);
  const Point end = random_end(rng, start);
  const int64_t side = rng.below(2) == 0 ? 1 : -1;
  const int64_t bend = side * rng.between(35, 110);
  switch (rng.below(5)) {
    case 0:  // nearly straight
      return {start, beside(start, end, 33, bend / 8),
              beside(start, end, 67, bend / 8), end};
    case 1:  // bow
      return {start, beside(start, end, 20, bend), beside(start, end, 80, bend),
              end};
    case 2:  // wave
      return {start, beside(start, end, 30, bend),
              beside(start, end, 70, -bend), end};
    case 3:  // hook
      return {start, beside(start, end, 90, bend / 4),
              beside(start, end, 120, bend), end};
    default:  // loop that comes back to where it began
      return {start, beside(start, end, 130, bend),
              beside(start, end, 130, -bend), start};
  }
}

// Moves the middle to (0, 0) and stretches the character so that all fill
// about the same box: neither the size nor the place tells the class.
void fit_to_box(Character& character) {
  Point low = character[0][0];
  Point high = low;
  for (const Stroke& stroke : character) {
    for (const Point& p : flatten(stroke)) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
  }
  const int64_t width = std::max(high.x - low.x, kPixelUnit);
  const int64_t height = std::max(high.y - low.y, kPixelUnit);
  const int64_t longest = std::max(width, height);
  const int64_t to_width = std::max(kLongSide * width / longest, kShortSide);
  const int64_t to_height = std::max(kLongSide * height / longest, kShortSide);
  for (Stroke& stroke : character) {
    for (Point& p : stroke) {
      p.x = (2 * p.x - low.x - high.x) * to_width / (2 * width);
      p.y = (2 * p.y - low.y - high.y) * to_height / (2 * height);
    }
  }
}

Character random_character(uint64_t seed, int64_t class_id) {
  Rng rng(seed, Stream::kGlyphClass, {class_id});
  const uint64_t draw = rng.below(8);
  const size_t strokes = draw < 2 ? 2 : draw < 6 ? 3 : 4;
  Character character;
  while (character.size() < strokes) {
    character.push_back(random_stroke(rng, character));
  }
  fit_to_box(character);
  return character;
}

// x' = xx x + xy y + x0, y' = yx x + yy y + y0.
struct Slant {
  int64_t xx, xy, yx, yy, x0, y0;

  Point operator()(Point p) const {
    return {(xx * p.x + xy * p.y) / kOne + x0,
            (yx * p.x + yy * p.y) / kOne + y0};
  }
};

Slant random_slant(Rng& rng) {
  // Rotation by 2 atan(h): rational, so no sine is needed. 0.17 is 19 degrees.
  const int64_t h = rng.between(-kOne * 17 / 100, kOne * 17 / 100);
  const int64_t norm = kOne * kOne + h * h;
  const int64_t cosine = (kOne * kOne - h * h) * kOne / norm;
  const int64_t sine = 2 * h * kOne * kOne / norm;
  const int64_t shear = rng.between(-kOne / 4, kOne / 4);
  const int64_t size = rng.between(kOne * 80 / 100, kOne * 112 / 100);
  const int64_t wide = size * rng.between(88, 112) / 100;
  const int64_t tall = size * rng.between(88, 112) / 100;
  constexpr int64_t kCentre = kGlyphSize * kPixelUnit / 2;
  constexpr int64_t kShift = 6 * kPixelUnit;
  Slant slant;
  slant.xx = cosine * wide / kOne;
  slant.xy = (cosine * shear / kOne - sine) * tall / kOne;
  slant.yx = sine * wide / kOne;
  slant.yy = (sine * shear / kOne + cosine) * tall / kOne;
  slant.x0 = kCentre + rng.between(-kShift, kShift);
  slant.y0 = kCentre + rng.between(-kShift, kShift);
  return slant;
}

InkLayer write_character(Rng& rng, const Character& character) {
  constexpr int64_t kJitter = 3 * kPixelUnit;
  const Slant slant = random_slant(rng);
  const int64_t pen = rng.between(kPixelUnit * 90 / 100, kPixelUnit * 2);
  InkLayer layer(kGlyphSize);
  for (Stroke stroke : character) {
    for (Point& p : stroke) {
      p.x += spread(rng, kJitter);
      p.y += spread(rng, kJitter);
      p = slant(p);
    }
    const int64_t first = pen * rng.between(80, 120) / 100;
    const int64_t last = pen * rng.between(80, 120) / 100;
    layer.draw(stroke, first, last);
  }
  for (uint64_t passes = rng.below(3); passes > 0; --passes) layer.blur();
  return layer;
}

// Paper and ink of this picture, with noise of a triangular distribution: the
// sum of two bytes a pixel.
Image develop(Rng& rng, const InkLayer& layer) {
  const int64_t paper = rng.between(215, 250);
  const int64_t ink = rng.between(10, 90);
  const int64_t grain = rng.between(2, 24);
  Image image(kGlyphSize, kGlyphSize, 1);
  uint64_t bits = 0;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    if (i % 4 == 0) bits = rng.next();
    const auto noise = static_cast<int64_t>(bits & 255) +
                       static_cast<int64_t>(bits >> 8 & 255) - 255;
    bits >>= 16;
    const int64_t grey = paper - (paper - ink) * layer.ink()[i] / 255;
    image.pixels[i] = static_cast<uint8_t>(
        std::clamp<int64_t>(grey + noise * grain / 256, 0, 255));
  }
  return image;
}

}  // namespace

Image draw_glyph(uint64_t seed, int64_t class_id, int64_t image_id) {
  Rng rng(seed, Stream::kGlyphImage, {class_id, image_id});
  const InkLayer layer = write_character(rng, random_character(seed, class_id));
  return develop(rng, layer);
}

}  // namespace kith
