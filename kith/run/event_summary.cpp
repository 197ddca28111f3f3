#include "kith/run/event_summary.h"

#include <cmath>

#include "kith/image/encode.h"

namespace kith {
namespace {

// Field numbers of tensorflow/core/framework/summary.proto.
namespace summary {
constexpr int kValue = 1;
}
namespace value {
constexpr int kTag = 1;
constexpr int kSimpleValue = 2;
constexpr int kImage = 4;
constexpr int kHistogram = 5;
}  // namespace value
namespace image {
constexpr int kHeight = 1;
constexpr int kWidth = 2;
constexpr int kColourSpace = 3;  // the number of channels
constexpr int kEncoded = 4;
}  // namespace image
namespace histogram {
constexpr int kMin = 1;
constexpr int kMax = 2;
constexpr int kCount = 3;
constexpr int kSum = 4;
constexpr int kSumOfSquares = 5;
constexpr int kBucketLimits = 6;
constexpr int kBuckets = 7;
}  // namespace histogram

/// Counts from the first bin with any to the last, as a reader wants them: the
/// first bucket begins at the minimum and the last ends at the maximum.
struct Buckets {
  double min = 0;
  double max = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;  ///< Where each bucket ends.
  std::vector<double> counts;
};

Buckets make_buckets(double low, double high, std::span<const int64_t> counts) {
  size_t begin = 0;
  size_t end = counts.size();
  while (begin < end && counts[begin] == 0) ++begin;
  while (end > begin && counts[end - 1] == 0) --end;
  const auto edge = [&](size_t bin) {
    return low + (high - low) * static_cast<double>(bin) /
                     static_cast<double>(counts.size());
  };
  Buckets buckets;
  for (size_t bin = begin; bin < end; ++bin) {
    const auto count = static_cast<double>(counts[bin]);
    const double centre = (edge(bin) + edge(bin + 1)) / 2;
    buckets.count += count;
    buckets.sum += count * centre;
    buckets.sum_of_squares += count * centre * centre;
    buckets.limits.push_back(edge(bin + 1));
    buckets.counts.push_back(count);
  }
  if (begin < end) {
    buckets.min = edge(begin);
    buckets.max = edge(end);
  }
  return buckets;
}

}  // namespace

void EventSummary::add_scalar(const std::string& tag, double number) {
  if (std::isnan(number)) return;
  ProtoMessage content;
  content.add_bytes(value::kTag, tag);
  content.add_float(value::kSimpleValue, static_cast<float>(number));
  message_.add_message(summary::kValue, content);
}

void EventSummary::add_image(const std::string& tag, const Image& picture) {
  const std::vector<uint8_t> png = encode_png(picture);
  ProtoMessage stored;
  stored.add_int64(image::kHeight, picture.height);
  stored.add_int64(image::kWidth, picture.width);
  stored.add_int64(image::kColourSpace, picture.channels);
  stored.add_bytes(
      image::kEncoded,
      std::string_view(reinterpret_cast<const char*>(png.data()), png.size()));
  ProtoMessage content;
  content.add_bytes(value::kTag, tag);
  content.add_message(value::kImage, stored);
  message_.add_message(summary::kValue, content);
}

void EventSummary::add_histogram(const std::string& tag, double low,
                                 double high, std::span<const int64_t> counts) {
  const Buckets buckets = make_buckets(low, high, counts);
  if (buckets.count == 0) return;
  ProtoMessage stored;
  stored.add_double(histogram::kMin, buckets.min);
  stored.add_double(histogram::kMax, buckets.max);
  stored.add_double(histogram::kCount, buckets.count);
  stored.add_double(histogram::kSum, buckets.sum);
  stored.add_double(histogram::kSumOfSquares, buckets.sum_of_squares);
  stored.add_doubles(histogram::kBucketLimits, buckets.limits);
  stored.add_doubles(histogram::kBuckets, buckets.counts);
  ProtoMessage content;
  content.add_bytes(value::kTag, tag);
  content.add_message(value::kHistogram, stored);
  message_.add_message(summary::kValue, content);
}

}  // namespace kith
