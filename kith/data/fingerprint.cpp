#include "kith/data/fingerprint.h"

#include <algorithm>
#include <cmath>

#include "kith/data/loader.h"
#include "kith/image/colour.h"
#include "kith/image/resize.h"

namespace kith {
namespace {

constexpr int kWidth = Fingerprint::kWidth;
constexpr int kHeight = Fingerprint::kHeight;
constexpr auto kPixels = static_cast<int64_t>(kWidth) * kHeight;
constexpr int kNoise = 3;
constexpr double kFlat = 4;
constexpr int64_t kBatch = 64;

/// Sums over the pixels of two thumbnails; integers, so that the results do
/// not depend on the order of summation.
struct Moments {
  int64_t a = 0;
  int64_t b = 0;
  int64_t aa = 0;
  int64_t bb = 0;
  int64_t ab = 0;
};

Moments moments(const uint8_t* x, const uint8_t* y) {
  Moments sum;
  for (int64_t i = 0; i < kPixels; ++i) {
    const int a = x[i];
    const int b = y[i];
    sum.a += a;
    sum.b += b;
    sum.aa += a * a;
    sum.bb += b * b;
    sum.ab += a * b;
  }
  return sum;
}

/// kPixels^2 times the covariance of values with these sums.
double covariance(int64_t products, int64_t a, int64_t b) {
  return static_cast<double>(kPixels * products - a * b);
}

Image thumbnail(const Image& image) {
  return resize(to_channels(image, 1), kWidth, kHeight);
}

Fingerprint of_thumbnail(const uint8_t* grey) {
  Fingerprint result;
  std::copy(grey, grey + kPixels, result.grey.begin());
  for (int y = 0; y < kHeight; ++y) {
    const uint8_t* row = grey + static_cast<std::ptrdiff_t>(y) * kWidth;
    for (int x = 0; x + 1 < kWidth; ++x) {
      const auto bit = static_cast<size_t>(y * (kWidth - 1) + x);
      if (row[x + 1] > row[x] + kNoise) {
        result.bits[bit / 64] |= uint64_t{1} << (bit % 64);
      }
    }
  }
  const Moments sum = moments(grey, grey);
  const double variance =
      covariance(sum.aa, sum.a, sum.a) / static_cast<double>(kPixels * kPixels);
  result.flat = variance < kFlat * kFlat;
  return result;
}

}  // namespace

Fingerprint fingerprint(const Image& image) {
  return of_thumbnail(thumbnail(image).pixels.data());
}

std::vector<Fingerprint> fingerprints(const DataSet& data,
                                      const std::vector<int64_t>& indices,
                                      int64_t threads, Progress& progress) {
  LoaderOptions options;
  options.threads = threads;
  Loader loader(
      in_batches(indices, kBatch),
      [&data](int64_t, int64_t, int64_t index) {
        return thumbnail(data.load(index));
      },
      options);
  progress.start("fingerprints", static_cast<int64_t>(indices.size()));
  std::vector<Fingerprint> result;
  result.reserve(indices.size());
  while (loader.remaining() > 0) {
    const Batch batch = loader.next();
    const uint8_t* thumbnails = batch.parts.front().pixels.get();
    for (int64_t i = 0; i < batch.count(); ++i) {
      result.push_back(of_thumbnail(thumbnails + i * kPixels));
    }
    progress.advance(static_cast<int64_t>(result.size()), "");
  }
  progress.finish();
  return result;
}

double thumbnail_correlation(const Fingerprint& a, const Fingerprint& b) {
  const Moments sum = moments(a.grey.data(), b.grey.data());
  const double variances =
      covariance(sum.aa, sum.a, sum.a) * covariance(sum.bb, sum.b, sum.b);
  return variances == 0
             ? 0
             : covariance(sum.ab, sum.a, sum.b) / std::sqrt(variances);
}

}  // namespace kith
