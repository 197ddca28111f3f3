#include "kith/image/resize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kith/core/error.h"
#include "kith/image/decode.h"
#include "kith/image/resize_kernels.h"

namespace kith {
namespace {

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

// Positions [first, first + count).
struct Range {
  int first;
  int count;
};

// How `from` positions become `to`.
class Scale {
 public:
  Scale(int from, int to, Filter filter)
      : from_(from),
        filter_(filter),
        scale_(static_cast<double>(from) / to),
        widen_(std::max(scale_, 1.0)),
        support_((filter == Filter::kBilinear ? 1.0 : 2.0) * widen_) {}

  // The sources that count for an output.
  Range window(int output) const {
    const double middle = centre(output);
    const int first =
        std::max(0, static_cast<int>(std::floor(middle - support_ + 0.5)));
    const int end =
        std::min(from_, static_cast<int>(std::floor(middle + support_ + 0.5)));
    return {first, end - first};
  }

  // The weight of a source for an output, up to a factor.
  double weight(int source, int output) const {
    const double x = (source - centre(output) + 0.5) * (1.0 / widen_);
    return filter_ == Filter::kBilinear ? triangle(x) : cubic(x);
  }

 private:
  double centre(int output) const { return (output + 0.5) * scale_; }

  int from_;
  Filter filter_;
  double scale_;
  double widen_;
  double support_;
};

// The weights of the outputs in a range.
ResizeWeights make_weights(int from, int to, Range outputs, Filter filter) {
  const Scale scale(from, to, filter);
  ResizeWeights weights;
  for (int i = 0; i < outputs.count; ++i) {
    weights.taps =
        std::max(weights.taps, scale.window(outputs.first + i).count);
  }
  weights.first.reserve(static_cast<size_t>(outputs.count));
  weights.values.resize(static_cast<size_t>(outputs.count) *
                        static_cast<size_t>(weights.taps));
  std::vector<double> exact(static_cast<size_t>(weights.taps));
  int32_t* out = weights.values.data();
  for (int i = 0; i < outputs.count; ++i, out += weights.taps) {
    const Range window = scale.window(outputs.first + i);
    const auto count = static_cast<size_t>(window.count);
    double sum = 0.0;
    for (size_t k = 0; k < count; ++k) {
      exact[k] =
          scale.weight(window.first + static_cast<int>(k), outputs.first + i);
      sum += exact[k];
    }
    const int first = std::min(window.first, from - weights.taps);
    weights.first.push_back(first);
    for (size_t k = 0; k < count; ++k) {
      const double value = exact[k] / sum * (1 << kResizePrecision);
      out[static_cast<size_t>(window.first - first) + k] =
          static_cast<int32_t>(std::lround(value));
    }
  }
  return weights;
}

// The sources that the outputs need, all in one range.
Range needed(const ResizeWeights& weights) {
  const int first = weights.first.front();
  return {first, weights.first.back() + weights.taps - first};
}

// `width` pixels from column `left` of the rows in a range, each resized.
Image resize_rows(const Image& image, int left, int width, Range rows,
                  ResizeWeights weights) {
  if (image.channels == 3) weights.split();
  const auto outputs = static_cast<int>(weights.outputs());
  Image result(outputs, rows.count, image.channels);
  const auto channels = static_cast<size_t>(image.channels);
  const size_t skip = static_cast<size_t>(left) * channels;
  const size_t bytes = static_cast<size_t>(width) * channels;
  std::vector<uint8_t> padded;
  const uint8_t* end = image.pixels.data() + image.pixels.size();
  for (int y = 0; y < rows.count; ++y) {
    const uint8_t* source = image.row(rows.first + y) + skip;
    if (image.channels == 1) {
      resize_grey_row(source, weights, result.row(y));
      continue;
    }
    // The kernel reads some bytes beyond the row: not beyond the last one.
    if (source + bytes + ResizeKernels::kBeyond > end) {
      padded.assign(source, source + bytes);
      padded.resize(bytes + ResizeKernels::kBeyond);
      source = padded.data();
    }
    resize_kernels().rgb_row(source, weights, result.row(y));
  }
  return result;
}

// The weights' source 0 is the row at `top`, which may lie above the image.
Image resize_columns(const Image& image, int top,
                     const ResizeWeights& weights) {
  Image result(image.width, static_cast<int>(weights.outputs()),
               image.channels);
  const size_t length =
      static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
  for (int y = 0; y < result.height; ++y) {
    const auto index = static_cast<size_t>(y);
    resize_kernels().mix_rows(image.row(weights.first[index] + top), length,
                              weights.taps, weights.of(index), result.row(y));
  }
  return result;
}

void check_target(const Image& image, int width, int height, int64_t pixels) {
  if (image.pixels.empty()) throw DataError("resize: the image has no pixels");
  KITH_ASSERT(image.channels == 1 || image.channels == 3);
  const std::string size =
      std::to_string(width) + " x " + std::to_string(height);
  if (width < 1 || height < 1) {
    throw DataError("resize: target size " + size + " is below 1 x 1");
  }
  const int64_t limit = DecodeLimits().max_pixels;
  if (pixels > limit) {
    throw DataError("resize: from " + std::to_string(image.width) + " x " +
                    std::to_string(image.height) + " to " + size +
                    " pixels: at most " + std::to_string(limit) +
                    " are accepted");
  }
}

int64_t width_of(const Box& box) { return box.right - box.left; }
int64_t height_of(const Box& box) { return box.bottom - box.top; }

bool within(const Box& box, int width, int height) {
  return box.left >= 0 && box.top >= 0 && !box.empty() && box.right <= width &&
         box.bottom <= height;
}

// The window of `source`, resized to width x height. A side that stays as it
// is has no pass of its own, as in Pillow.
Image resize_part(const Image& image, const Box& source, int width, int height,
                  const Box& window, Filter filter) {
  check_target(image, width, height, width_of(window) * height_of(window));
  KITH_ASSERT(within(source, image.width, image.height));
  KITH_ASSERT(within(window, width, height));
  const auto left = static_cast<int>(source.left);
  const auto top = static_cast<int>(source.top);
  const auto from_width = static_cast<int>(width_of(source));
  const auto from_height = static_cast<int>(height_of(source));
  const Range columns{static_cast<int>(window.left),
                      static_cast<int>(width_of(window))};
  Range rows{static_cast<int>(window.top), static_cast<int>(height_of(window))};
  ResizeWeights vertical;
  if (height != from_height) {
    vertical = make_weights(from_height, height, rows, filter);
    rows = needed(vertical);
  }
  rows.first += top;
  const int64_t first_column = left + columns.first;
  Image across =
      width == from_width
          ? crop(image, {first_column, rows.first, first_column + columns.count,
                         rows.first + rows.count})
          : resize_rows(image, left, from_width, rows,
                        make_weights(from_width, width, columns, filter));
  if (height == from_height) return across;
  return resize_columns(across, top - rows.first, vertical);
}

Box whole(int width, int height) { return {0, 0, width, height}; }

}  // namespace

Filter filter_named(const std::string& name) {
  KITH_ASSERT(name == "bilinear" || name == "bicubic");
  return name == "bilinear" ? Filter::kBilinear : Filter::kBicubic;
}

Image resize(const Image& image, int width, int height, Filter filter) {
  return resize_part(image, whole(image.width, image.height), width, height,
                     whole(width, height), filter);
}

Image resize_box(const Image& image, const Box& source, int width, int height,
                 Filter filter) {
  return resize_part(image, source, width, height, whole(width, height),
                     filter);
}

Image resize_window(const Image& image, int width, int height,
                    const Box& window, Filter filter) {
  return resize_part(image, whole(image.width, image.height), width, height,
                     window, filter);
}

WindowWeights window_weights(const Size& from, const Size& to,
                             const Box& window, Filter filter) {
  KITH_ASSERT(within(window, to.width, to.height));
  return {make_weights(from.width, to.width,
                       {static_cast<int>(window.left),
                        static_cast<int>(width_of(window))},
                       filter),
          make_weights(from.height, to.height,
                       {static_cast<int>(window.top),
                        static_cast<int>(height_of(window))},
                       filter)};
}

Size size_with_short_side(const Size& size, int side) {
  const int64_t short_side = std::min(size.width, size.height);
  const int64_t long_side = std::max(size.width, size.height);
  if (short_side < 1) throw DataError("resize: the image has no pixels");
  const int64_t wanted = side * long_side / short_side;
  if (wanted > std::numeric_limits<int>::max()) {
    throw DataError("resize: a picture of " + std::to_string(size.width) +
                    " x " + std::to_string(size.height) + " is too long");
  }
  const auto longer = static_cast<int>(wanted);
  return size.width <= size.height ? Size{side, longer} : Size{longer, side};
}

}  // namespace kith
