#include "kith/data/glyphs.h"

#include <algorithm>
#include <vector>

#include "kith/core/rng.h"
#include "kith/image/stroke.h"

namespace kith {
namespace {

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
