#include "kith/image/warp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kith/core/error.h"

namespace kith {
namespace {

// A coordinate folded into [0, size] as by a mirror at either end.
double fold(double x, double size) {
  x = std::abs(x);
  if (x <= size) return x;
  x = std::fmod(x, 2.0 * size);
  return x <= size ? x : 2.0 * size - x;
}

// The two pixels beside a coordinate and the weight of the second.
struct Neighbours {
  Neighbours(double x, int size) {
    // The half pixel outside the outermost centres has their colour: that is
    // what the mirrored edge pixel gives.
    const double centre = std::clamp(fold(x, size) - 0.5, 0.0, size - 1.0);
    first = static_cast<int>(centre);
    second = std::min(first + 1, size - 1);
    weight = static_cast<float>(centre - first);
  }

  int first;
  int second;
  float weight;
};

void sample(const Image& source, double x, double y, uint8_t* out) {
  const Neighbours columns(x, source.width);
  const Neighbours rows(y, source.height);
  const uint8_t* upper = source.row(rows.first);
  const uint8_t* lower = source.row(rows.second);
  const int left = columns.first * source.channels;
  const int right = columns.second * source.channels;
  const auto mix = [](float p, float q, float weight) {
    return p + weight * (q - p);
  };
  for (int c = 0; c < source.channels; ++c) {
    const float above = mix(upper[left + c], upper[right + c], columns.weight);
    const float below = mix(lower[left + c], lower[right + c], columns.weight);
    // Never negative, so this rounds to the nearest.
    // NOLINTNEXTLINE(bugprone-incorrect-roundings)
    out[c] = static_cast<uint8_t>(mix(above, below, rows.weight) + 0.5F);
  }
}

}  // namespace

Homography rotation(double degrees, int width, int height) {
  const double angle = degrees * std::numbers::pi / 180.0;
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  const double x = width / 2.0;
  const double y = height / 2.0;
  Homography map;
  map.a = cosine;
  map.b = -sine;
  map.c = x - cosine * x + sine * y;
  map.d = sine;
  map.e = cosine;
  map.f = y - sine * x - cosine * y;
  return map;
}

Homography rectangle_to(const std::array<Corner, 4>& corners, int width,
                        int height) {
  // With p0 .. p3 the corners, the map of the unit square sends (0, 0) to p0,
  // so (c, f) = p0; the other three corners give two equations in g and h,
  // g (p1 - p2) + h (p3 - p2) = p0 - p1 + p2 - p3, and then the rest.
  const auto& [p0, p1, p2, p3] = corners;
  const Corner u{p1.x - p2.x, p1.y - p2.y};
  const Corner v{p3.x - p2.x, p3.y - p2.y};
  const Corner sum{p0.x - p1.x + p2.x - p3.x, p0.y - p1.y + p2.y - p3.y};
  const double determinant = u.x * v.y - v.x * u.y;
  KITH_ASSERT(determinant != 0.0);
  Homography map;
  map.g = (sum.x * v.y - v.x * sum.y) / determinant;
  map.h = (u.x * sum.y - sum.x * u.y) / determinant;
  map.a = (p1.x - p0.x + map.g * p1.x) / width;
  map.d = (p1.y - p0.y + map.g * p1.y) / width;
  map.b = (p3.x - p0.x + map.h * p3.x) / height;
  map.e = (p3.y - p0.y + map.h * p3.y) / height;
  map.c = p0.x;
  map.f = p0.y;
  map.g /= width;
  map.h /= height;
  return map;
}

Image warp_mirrored(const Image& source, const Homography& inverse_map) {
  const Homography& m = inverse_map;
  Image result(source.width, source.height, source.channels);
  for (int row = 0; row < result.height; ++row) {
    uint8_t* out = result.row(row);
    const double y = row + 0.5;
    for (int column = 0; column < result.width; ++column) {
      const double x = column + 0.5;
      const double share = 1.0 / (m.g * x + m.h * y + 1.0);
      sample(source, (m.a * x + m.b * y + m.c) * share,
             (m.d * x + m.e * y + m.f) * share, out);
      out += result.channels;
    }
  }
  return result;
}

}  // namespace kith
