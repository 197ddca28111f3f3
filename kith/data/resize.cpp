#include "kith/data/resize.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kith/core/error.h"

namespace kith {
namespace {

// Weights are integers with this many fractional bits: 32 less 8 of the pixel
// less 2 of headroom for the cubic's overshoot.
constexpr int kPrecision = 22;
constexpr int32_t kHalf = int32_t{1} << (kPrecision - 1);

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

// One output position is the weighted sum of source positions [first,
// first + count); its weights begin at index * taps.
struct Window {
  int first;
  int count;
};

struct Weights {
  int taps = 0;  // room for one window
  std::vector<Window> windows;
  std::vector<int32_t> values;

  const int32_t* of(size_t index) const {
    return values.data() + index * static_cast<size_t>(taps);
  }
};

Weights make_weights(int from, int to, Filter filter) {
  const double scale = static_cast<double>(from) / to;
  const double widen = std::max(scale, 1.0);
  const double support = (filter == Filter::kBilinear ? 1.0 : 2.0) * widen;
  Weights weights;
  weights.taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  weights.windows.resize(static_cast<size_t>(to));
  weights.values.resize(static_cast<size_t>(to) *
                        static_cast<size_t>(weights.taps));
  std::vector<double> exact(static_cast<size_t>(weights.taps));
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - support + 0.5));
    const int end = std::min(from, static_cast<int>(centre + support + 0.5));
    const auto count = static_cast<size_t>(end - first);
    double sum = 0.0;
    for (size_t k = 0; k < count; ++k) {
      const double x =
          (static_cast<double>(k) + first - centre + 0.5) * (1.0 / widen);
      exact[k] = filter == Filter::kBilinear ? triangle(x) : cubic(x);
      sum += exact[k];
    }
    const auto index = static_cast<size_t>(i);
    weights.windows[index] = {first, end - first};
    int32_t* out = &weights.values[index * static_cast<size_t>(weights.taps)];
    for (size_t k = 0; k < count; ++k) {
      const double value = exact[k] / sum * (1 << kPrecision);
      out[k] = static_cast<int32_t>(std::lround(value));
    }
  }
  return weights;
}

uint8_t to_pixel(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kPrecision, 0, 255));
}

template <int kChannels>
void resize_row(const uint8_t* source, uint8_t* target,
                const Weights& weights) {
  for (size_t i = 0; i < weights.windows.size(); ++i) {
    const Window window = weights.windows[i];
    const int32_t* weight = weights.of(i);
    const uint8_t* pixel = source + window.first * kChannels;
    int32_t sums[kChannels];
    std::fill_n(sums, kChannels, kHalf);
    for (int k = 0; k < window.count; ++k) {
      for (int c = 0; c < kChannels; ++c) {
        sums[c] += weight[k] * pixel[k * kChannels + c];
      }
    }
    for (int c = 0; c < kChannels; ++c) *target++ = to_pixel(sums[c]);
  }
}

Image resize_rows(const Image& image, int width, Filter filter) {
  const Weights weights = make_weights(image.width, width, filter);
  Image result(width, image.height, image.channels);
  for (int y = 0; y < image.height; ++y) {
    if (image.channels == 1) {
      resize_row<1>(image.row(y), result.row(y), weights);
    } else {
      resize_row<3>(image.row(y), result.row(y), weights);
    }
  }
  return result;
}

// Goes along whole rows, which the compiler turns into vector code.
Image resize_columns(const Image& image, int height, Filter filter) {
  const Weights weights = make_weights(image.height, height, filter);
  Image result(image.width, height, image.channels);
  const auto length = static_cast<size_t>(image.width * image.channels);
  std::vector<int32_t> sums(length);
  for (int y = 0; y < height; ++y) {
    const Window window = weights.windows[static_cast<size_t>(y)];
    const int32_t* weight = weights.of(static_cast<size_t>(y));
    std::fill(sums.begin(), sums.end(), kHalf);
    for (int k = 0; k < window.count; ++k) {
      const uint8_t* source = image.row(window.first + k);
      const int32_t factor = weight[k];
      for (size_t x = 0; x < length; ++x) sums[x] += factor * source[x];
    }
    uint8_t* target = result.row(y);
    for (size_t x = 0; x < length; ++x) target[x] = to_pixel(sums[x]);
  }
  return result;
}

}  // namespace

Image resize(const Image& image, int width, int height, Filter filter) {
  if (image.pixels.empty()) throw DataError("resize: the image has no pixels");
  if (width < 1 || height < 1) {
    throw DataError("resize: target size " + std::to_string(width) + " x " +
                    std::to_string(height) + " is below 1 x 1");
  }
  KITH_ASSERT(image.channels == 1 || image.channels == 3);
  if (width == image.width && height == image.height) return image;
  if (width == image.width) return resize_columns(image, height, filter);
  Image rows = resize_rows(image, width, filter);
  if (height == image.height) return rows;
  return resize_columns(rows, height, filter);
}

}  // namespace kith
