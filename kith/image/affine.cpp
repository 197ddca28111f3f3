#include "kith/image/affine.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "kith/core/error.h"

namespace kith {
namespace {

// Reads pixels at any column and row, the edge rule included.
class PixelReader {
 public:
  PixelReader(const Image& source, int fill, Edge edge)
      : source_(source), fill_(static_cast<uint8_t>(fill)), edge_(edge) {}

  // The interpolated pixel at (x, y), in pixel-centre coordinates.
  void sample(float x, float y, uint8_t* out) const {
    // Beyond two pixels outside all positions look alike; the limit also keeps
    // the conversion to int defined.
    x = std::clamp(x, -2.0F, static_cast<float>(source_.width) + 1.0F);
    y = std::clamp(y, -2.0F, static_cast<float>(source_.height) + 1.0F);
    // Truncation of positive numbers: a floor without a call.
    const int column = static_cast<int>(x + 2.0F) - 2;
    const int row = static_cast<int>(y + 2.0F) - 2;
    const float wx = x - static_cast<float>(column);
    const float wy = y - static_cast<float>(row);
    const bool inside = column >= 0 && column + 1 < source_.width && row >= 0 &&
                        row + 1 < source_.height;
    const int right = source_.channels;
    for (int c = 0; c < source_.channels; ++c) {
      if (inside) {
        const uint8_t* p = source_.row(row) + column * right + c;
        const uint8_t* q = source_.row(row + 1) + column * right + c;
        out[c] = blend(p[0], p[right], q[0], q[right], wx, wy);
      } else {
        out[c] =
            blend(at(column, row, c), at(column + 1, row, c),
                  at(column, row + 1, c), at(column + 1, row + 1, c), wx, wy);
      }
    }
  }

 private:
  static uint8_t blend(float p, float p_right, float q, float q_right, float wx,
                       float wy) {
    const float upper = p + wx * (p_right - p);
    const float lower = q + wx * (q_right - q);
    return static_cast<uint8_t>(upper + wy * (lower - upper) + 0.5F);
  }

  float at(int column, int row, int channel) const {
    const bool inside = column >= 0 && column < source_.width && row >= 0 &&
                        row < source_.height;
    if (!inside) {
      if (edge_ == Edge::kFill) return fill_;
      column = std::clamp(column, 0, source_.width - 1);
      row = std::clamp(row, 0, source_.height - 1);
    }
    return source_.row(row)[column * source_.channels + channel];
  }

  const Image& source_;
  uint8_t fill_;
  Edge edge_;
};

double radians(double degrees) { return degrees * std::numbers::pi / 180.0; }

}  // namespace

Image warp_affine(const Image& source, const Affine& inverse_map, int fill,
                  Edge edge) {
  KITH_ASSERT(fill >= 0 && fill <= 255);
  Image result(source.width, source.height, source.channels);
  const PixelReader reader(source, fill, edge);
  for (int row = 0; row < result.height; ++row) {
    uint8_t* out = result.row(row);
    const double y = row + 0.5;
    for (int column = 0; column < result.width; ++column) {
      const double x = column + 0.5;
      const double sx = inverse_map.a * x + inverse_map.b * y + inverse_map.c;
      const double sy = inverse_map.d * x + inverse_map.e * y + inverse_map.f;
      reader.sample(static_cast<float>(sx - 0.5), static_cast<float>(sy - 0.5),
                    out);
      out += result.channels;
    }
  }
  return result;
}

int border_grey(const Image& image) {
  if (image.pixels.empty()) return 0;
  std::vector<uint8_t> border;
  const int length = image.width * image.channels;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* row = image.row(y);
    if (y == 0 || y == image.height - 1) {
      border.insert(border.end(), row, row + length);
    } else {
      border.insert(border.end(), row, row + image.channels);
      border.insert(border.end(), row + length - image.channels, row + length);
    }
  }
  const auto middle =
      border.begin() + static_cast<std::ptrdiff_t>(border.size() / 2);
  std::nth_element(border.begin(), middle, border.end());
  return *middle;
}

Affine random_affine(Rng& rng, const AffineRange& range, int width,
                     int height) {
  KITH_ASSERT(range.scale < 1.0);
  const double angle = radians(rng.uniform(-range.degrees, range.degrees));
  const double size = rng.uniform(1.0 - range.scale, 1.0 + range.scale);
  const double slant =
      std::tan(radians(rng.uniform(-range.shear, range.shear)));
  const double dx = rng.uniform(-range.translate, range.translate) * width;
  const double dy = rng.uniform(-range.translate, range.translate) * height;
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  // The forward map is centre + shift + size * rotation * shear * (p - centre);
  // this is its inverse.
  Affine map;
  map.a = (cosine + slant * sine) / size;
  map.b = (sine - slant * cosine) / size;
  map.d = -sine / size;
  map.e = cosine / size;
  const double x = width / 2.0;
  const double y = height / 2.0;
  map.c = x - map.a * (x + dx) - map.b * (y + dy);
  map.f = y - map.d * (x + dx) - map.e * (y + dy);
  return map;
}

}  // namespace kith
