#include "kith/data/landmarks.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "kith/core/rng.h"
#include "kith/image/crop.h"
#include "kith/image/image.h"
#include "kith/image/resize.h"

namespace kith {
namespace {

/// Red, green, blue: 0 to 255.
using Colour = std::array<int, 3>;

/// Each part uniform in [lo, hi].
Colour draw_colour(Rng& rng, int lo, int hi);

/// Shapes on a colour picture, cut off at its edges. Integers only.
class Painter {
 public:
  explicit Painter(Image& image) : image_(image) {}

  void box(const Box& box, const Colour& colour);

  /// What of the ellipse in a box lies above row `bottom`.
  void ellipse(const Box& box, int64_t bottom, const Colour& colour);

  /// The triangle on the lower edge of a box.
  void gable(const Box& box, const Colour& colour);

 private:
  void put(int64_t x, int64_t y, const Colour& colour);

  Image& image_;
};

/// The row of a scene at which buildings stand.
constexpr int64_t kGround = 224;

/// A generated building, for the data set `landmarks`.
struct Building {
  Box walls;
  Box roof;
  int64_t shape;  ///< Of the roof.
  int64_t columns, rows;
  int64_t gap;    ///< Between windows, in percent of their distance.
  int64_t arch;   ///< Height of the windows' arches, in percent.
  int64_t bands;  ///< Between the storeys.
  int64_t door;   ///< Column.
  Colour wall, trim, glass, tiles;
  std::array<Box, 3> ornaments;

  Box extent() const { return {walls.left, roof.top, walls.right, kGround}; }
};

/// A random one, its middle at column `centre`.
Building draw_plan(Rng& rng, int64_t centre);

void paint_building(Painter& painter, const Building& building);

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

/// The street that a photograph shows a part of.
constexpr int kScene = 320;

int draw(Rng& rng, int lo, int hi) {
  return static_cast<int>(rng.between(lo, hi));
}

Building landmark_building(uint64_t seed, int64_t landmark) {
  Rng rng(seed, Stream::kLandmark, {landmark});
  return draw_plan(rng, kScene / 2);
}

/// How a photograph is taken.
struct Camera {
  int width = 0, height = 0;  ///< Of the picture.
  Box window;                 ///< Of the scene.
};

/// A window of `length` that holds [lo, hi), or lies in it if it is shorter;
/// within the scene.
int64_t place(Rng& rng, int64_t lo, int64_t hi, int64_t length) {
  const int64_t a = std::min(lo, hi - length);
  const int64_t b = std::max(lo, hi - length);
  return std::clamp<int64_t>(rng.between(a, b), 0, kScene - length);
}

Camera aim(Rng& rng, const Box& extent, LandmarkView view) {
  Camera camera;
  const int long_side = draw(rng, 96, 128);
  const int short_side = long_side * draw(rng, 68, 80) / 100;
  const uint64_t shape = rng.below(3);  // square, wide, upright
  camera.width = shape == 2 ? short_side : long_side;
  camera.height = shape == 1 ? short_side : long_side;
  if (shape == 0) camera.width = camera.height = draw(rng, 64, 128);
  const bool easy = view == LandmarkView::kEasy;
  // The window's size in percent of the smallest one that holds everything.
  const int64_t zoom = easy                          ? rng.between(105, 150)
                       : view == LandmarkView::kHard ? rng.between(55, 85)
                                                     : rng.between(20, 30);
  const int64_t wide = extent.right - extent.left;
  const int64_t high = extent.bottom - extent.top;
  // Units of the scene a pixel, in 1 / 1024.
  const int64_t unit =
      std::max(wide * 1024 / camera.width, high * 1024 / camera.height) * zoom /
      100;
  const int64_t stretch = rng.between(92, 108);
  const int64_t across = std::min<int64_t>(
      kScene, camera.width * unit * stretch / (int64_t{100} * 1024) + 1);
  const int64_t down =
      std::min<int64_t>(kScene, camera.height * unit / 1024 + 1);
  const int64_t x = place(rng, extent.left, extent.right, across);
  const int64_t y = place(rng, extent.top, extent.bottom, down);
  camera.window = {x, y, x + across, y + down};
  return camera;
}

/// Where in the picture a part of the scene is.
Box seen(const Camera& camera, const Box& part) {
  const Box& w = camera.window;
  const int64_t wide = w.right - w.left;
  const int64_t high = w.bottom - w.top;
  const auto x = [&](int64_t at) {
    return std::clamp<int64_t>((at - w.left) * camera.width / wide, 0,
                               camera.width);
  };
  const auto y = [&](int64_t at) {
    return std::clamp<int64_t>((at - w.top) * camera.height / high, 0,
                               camera.height);
  };
  return {x(part.left), y(part.top), x(part.right), y(part.bottom)};
}

/// The street of this photograph: sky, ground and neighbours are its own.
Image draw_scene(Rng& rng, const Building& building) {
  Image scene(kScene, kScene, 3);
  Painter painter(scene);
  painter.box({0, 0, kScene, kGround}, draw_colour(rng, 120, 255));
  painter.box({0, kGround, kScene, kScene}, draw_colour(rng, 60, 170));
  for (const int64_t centre : {rng.between(10, 60), rng.between(260, 310)}) {
    paint_building(painter, draw_plan(rng, centre));
  }
  paint_building(painter, building);
  return scene;
}

/// People, trees and signs in front.
void draw_clutter(Rng& rng, int64_t things, Image& image) {
  Painter painter(image);
  for (int64_t i = 0; i < things; ++i) {
    const int64_t wide = image.width * rng.between(6, 18) / 100;
    const int64_t high = image.height * rng.between(10, 35) / 100;
    const int64_t x = rng.between(-wide / 2, image.width - wide / 2);
    const int64_t y = image.height - rng.between(high / 2, high * 2);
    const Box box = {x, y, x + wide, y + high};
    const Colour colour = draw_colour(rng, 10, 230);
    if (rng.below(2) == 0) {
      painter.box(box, colour);
    } else {
      painter.ellipse(box, box.bottom, colour);
    }
  }
}

/// Light of a colour, in percent, and noise of a triangular distribution.
void develop(Rng& rng, LandmarkView view, Image& image) {
  const int dark = view == LandmarkView::kEasy ? 85 : 45;
  const int light = draw(rng, dark, 120);
  Colour gain = draw_colour(rng, 88, 112);
  for (int& value : gain) value = value * light / 100;
  const int grain = draw(rng, 4, 24);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const uint64_t bits = rng.next();
    const int noise =
        static_cast<int>(bits & 255) + static_cast<int>(bits >> 8 & 255) - 255;
    const int value = image.pixels[i] * gain[i % 3] / 100;
    image.pixels[i] =
        static_cast<uint8_t>(std::clamp(value + noise * grain / 256, 0, 255));
  }
}

/// The numbers of a photograph; the camera's come first.
Rng photo_numbers(uint64_t seed, int64_t landmark, int64_t photo) {
  return {seed, Stream::kLandmarkPhoto, {landmark, photo}};
}

}  // namespace

LandmarkPhoto photograph_landmark(uint64_t seed, int64_t landmark,
                                  int64_t photo, LandmarkView view) {
  const Building building = landmark_building(seed, landmark);
  Rng rng = photo_numbers(seed, landmark, photo);
  const Camera camera = aim(rng, building.extent(), view);
  LandmarkPhoto result;
  result.box = seen(camera, building.extent());
  result.image = resize_box(draw_scene(rng, building), camera.window,
                            camera.width, camera.height);
  const bool easy = view == LandmarkView::kEasy;
  draw_clutter(rng, rng.between(easy ? 0 : 1, easy ? 2 : 4), result.image);
  develop(rng, view, result.image);
  return result;
}

Box landmark_box(uint64_t seed, int64_t landmark, int64_t photo,
                 LandmarkView view) {
  Rng rng = photo_numbers(seed, landmark, photo);
  const Box extent = landmark_building(seed, landmark).extent();
  return seen(aim(rng, extent, view), extent);
}

}  // namespace kith
