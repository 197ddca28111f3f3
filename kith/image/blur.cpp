#include "kith/image/blur.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kith/core/error.h"

namespace kith {
namespace {

// The weights of the offsets 0, 1, ... radius; each counts for both sides, so
// the middle one is halved. Twice their sum is 1.
std::vector<float> half_kernel(double sigma) {
  const int radius = static_cast<int>(std::ceil(4.0 * sigma));
  std::vector<double> weights;
  weights.reserve(static_cast<size_t>(radius) + 1);
  double sum = 0.0;
  for (int k = 0; k <= radius; ++k) {
    const double weight = std::exp(-0.5 * (k / sigma) * (k / sigma));
    weights.push_back(k == 0 ? 0.5 * weight : weight);
    sum += 2.0 * weights.back();
  }
  std::vector<float> scaled;
  scaled.reserve(weights.size());
  for (const double weight : weights) {
    scaled.push_back(static_cast<float>(weight / sum));
  }
  return scaled;
}

int mirrored(int i, int n) {
  const int place = (i % (2 * n) + 2 * n) % (2 * n);
  return place < n ? place : 2 * n - 1 - place;
}

// sums[i] += weight (a[i] + b[i]). Eight at a time: a loop of fixed length
// becomes vector instructions.
template <class T>
void add_pair(const T* a, const T* b, float weight, int length, float* sums) {
  constexpr int kLanes = 8;
  int i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    float pairs[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      pairs[lane] = static_cast<float>(a[i + lane] + b[i + lane]);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      sums[i + lane] += weight * pairs[lane];
    }
  }
  for (; i < length; ++i) sums[i] += weight * static_cast<float>(a[i] + b[i]);
}

// One row, blurred along the columns of the picture.
void blur_down(const Image& image, int y, const std::vector<float>& weights,
               float* sums) {
  const int length = image.width * image.channels;
  std::fill_n(sums, length, 0.0F);
  for (int k = 0; k < static_cast<int>(weights.size()); ++k) {
    add_pair(image.row(mirrored(y - k, image.height)),
             image.row(mirrored(y + k, image.height)),
             weights[static_cast<size_t>(k)], length, sums);
  }
}

// Fills the `radius` pixels before and after a row of `width` pixels.
void mirror_ends(float* row, int width, std::ptrdiff_t channels, int radius) {
  for (int k = 1; k <= radius; ++k) {
    const int after = width - 1 + k;
    std::copy_n(row + mirrored(-k, width) * channels, channels,
                row - k * channels);
    std::copy_n(row + mirrored(after, width) * channels, channels,
                row + after * channels);
  }
}

}  // namespace

Image gaussian_blur(const Image& image, double sigma) {
  KITH_ASSERT(sigma > 0.0);
  const std::vector<float> weights = half_kernel(sigma);
  const int radius = static_cast<int>(weights.size()) - 1;
  const int channels = image.channels;
  const int length = image.width * channels;
  std::vector<float> padded(
      static_cast<size_t>(length + 2 * radius * channels));
  std::vector<float> sums(static_cast<size_t>(length));
  float* row = padded.data() + std::ptrdiff_t{radius} * channels;
  Image result(image.width, image.height, channels);
  for (int y = 0; y < image.height; ++y) {
    blur_down(image, y, weights, row);
    mirror_ends(row, image.width, channels, radius);
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (int k = 0; k <= radius; ++k) {
      const std::ptrdiff_t apart = std::ptrdiff_t{k} * channels;
      add_pair(row - apart, row + apart, weights[static_cast<size_t>(k)],
               length, sums.data());
    }
    std::transform(sums.begin(), sums.end(), result.row(y),
                   [](float sum) { return static_cast<uint8_t>(sum + 0.5F); });
  }
  return result;
}

}  // namespace kith
