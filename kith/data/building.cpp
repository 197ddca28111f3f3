#include "kith/data/building.h"

#include <algorithm>

namespace kith {
namespace {

void paint_roof(Painter& painter, const Building& b) {
  const int64_t width = b.roof.right - b.roof.left;
  const int64_t high = b.roof.bottom - b.roof.top;
  switch (b.shape) {
    case 0:  // flat, with a step
      painter.box({b.roof.left + width / 4, b.roof.top,
                   b.roof.right - width / 4, b.roof.bottom},
                  b.tiles);
      break;
    case 1:
      painter.gable(b.roof, b.tiles);
      break;
    case 2:  // dome
      painter.ellipse({b.roof.left + width / 8, b.roof.top,
                       b.roof.right - width / 8, b.roof.bottom + high},
                      b.roof.bottom, b.tiles);
      break;
    default:  // two towers
      for (const int64_t x : {b.roof.left, b.roof.right - width / 4}) {
        painter.box({x, b.roof.top + high / 2, x + width / 4, b.roof.bottom},
                    b.trim);
        painter.gable({x, b.roof.top, x + width / 4, b.roof.top + high / 2},
                      b.tiles);
      }
  }
}

void paint_windows(Painter& painter, const Building& b) {
  const int64_t wide = b.walls.right - b.walls.left;
  const int64_t high = b.walls.bottom - b.walls.top;
  for (int64_t row = 0; row < b.rows; ++row) {
    const int64_t top = b.walls.top + high * row / b.rows;
    const int64_t next = b.walls.top + high * (row + 1) / b.rows;
    if (b.bands > 0) {
      painter.box({b.walls.left, top, b.walls.right, top + 3}, b.trim);
    }
    for (int64_t column = 0; column < b.columns; ++column) {
      const int64_t left = b.walls.left + wide * column / b.columns;
      const int64_t right = b.walls.left + wide * (column + 1) / b.columns;
      const int64_t side = (right - left) * b.gap / 200;
      const int64_t rest = (next - top) * b.gap / 200;
      const bool is_door = row + 1 == b.rows && column == b.door;
      const Box box = {left + side, top + rest, right - side,
                       is_door ? next : next - rest};
      const int64_t arch = (box.bottom - box.top) * b.arch / 100;
      const Colour& colour = is_door ? b.trim : b.glass;
      painter.box({box.left, box.top + arch, box.right, box.bottom}, colour);
      painter.ellipse({box.left, box.top, box.right, box.top + 2 * arch},
                      box.top + arch, colour);
    }
  }
}

}  // namespace

Colour draw_colour(Rng& rng, int lo, int hi) {
  Colour colour{};
  for (int& value : colour) value = static_cast<int>(rng.between(lo, hi));
  return colour;
}

void Painter::put(int64_t x, int64_t y, const Colour& colour) {
  if (x < 0 || y < 0 || x >= image_.width || y >= image_.height) return;
  uint8_t* pixel = image_.row(static_cast<int>(y)) + 3 * x;
  for (size_t c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(colour[c]);
}

void Painter::box(const Box& box, const Colour& colour) {
  for (int64_t y = box.top; y < box.bottom; ++y) {
    for (int64_t x = box.left; x < box.right; ++x) put(x, y, colour);
  }
}

void Painter::ellipse(const Box& box, int64_t bottom, const Colour& colour) {
  const int64_t wide = box.right - box.left;
  const int64_t high = box.bottom - box.top;
  for (int64_t y = box.top; y < std::min(box.bottom, bottom); ++y) {
    for (int64_t x = box.left; x < box.right; ++x) {
      const int64_t dx = (2 * (x - box.left) + 1 - wide) * high;
      const int64_t dy = (2 * (y - box.top) + 1 - high) * wide;
      if (dx * dx + dy * dy <= wide * wide * high * high) put(x, y, colour);
    }
  }
}

void Painter::gable(const Box& box, const Colour& colour) {
  const int64_t high = box.bottom - box.top;
  const int64_t half = (box.right - box.left) / 2;
  for (int64_t y = box.top; y < box.bottom; ++y) {
    const int64_t reach = half * (y - box.top + 1) / high;
    const int64_t middle = box.left + half;
    this->box({middle - reach, y, middle + reach, y + 1}, colour);
  }
}

Building draw_plan(Rng& rng, int64_t centre) {
  Building b{};
  const int64_t half = rng.between(36, 52);
  const int64_t high = rng.between(72, 110);
  b.walls = {centre - half, kGround - high, centre + half, kGround};
  b.roof = {b.walls.left, b.walls.top - rng.between(10, 28), b.walls.right,
            b.walls.top};
  b.shape = rng.between(0, 3);
  b.columns = rng.between(2, 6);
  b.rows = rng.between(2, 5);
  b.gap = rng.between(25, 60);
  b.arch = rng.between(0, 2) * 30;
  b.bands = rng.between(0, 1);
  b.door = rng.between(0, b.columns - 1);
  b.wall = draw_colour(rng, 90, 220);
  b.trim = draw_colour(rng, 40, 250);
  b.glass = draw_colour(rng, 10, 110);
  b.tiles = draw_colour(rng, 40, 190);
  for (Box& box : b.ornaments) {
    const int64_t size = rng.between(5, 12);
    const int64_t x = rng.between(b.walls.left, b.walls.right - size);
    const int64_t y = rng.between(b.walls.top, b.walls.bottom - size);
    box = {x, y, x + size, y + size};
  }
  return b;
}

void paint_building(Painter& painter, const Building& b) {
  painter.box(b.walls, b.wall);
  paint_roof(painter, b);
  paint_windows(painter, b);
  for (const Box& box : b.ornaments) {
    painter.ellipse(box, box.bottom, b.trim);
  }
}

}  // namespace kith
