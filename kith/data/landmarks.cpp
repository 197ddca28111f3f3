#include "kith/data/landmarks.h"

#include <algorithm>

#include "kith/core/rng.h"
#include "kith/data/building.h"
#include "kith/image/resize.h"

namespace kith {
namespace {

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
