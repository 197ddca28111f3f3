// Pixels of JPEGs of several sizes and samplings, against the CPU's.

#include <cstring>
#include <vector>

#include "kith/ops/jpeg_pixels.h"
#include "tests/racecheck/check.h"

namespace kith::racecheck {
namespace {

constexpr int kSize = 20;

/// What pictures refer to, one after the other.
class Data {
 public:
  explicit Data(size_t head) : bytes_(head) {}

  template <class T>
  uint32_t put(const std::vector<T>& numbers) {
    constexpr size_t kAlign = 128;
    const size_t place = (bytes_.size() + kAlign - 1) / kAlign * kAlign;
    bytes_.resize(place + numbers.size() * sizeof(T));
    std::memcpy(bytes_.data() + place, numbers.data(),
                numbers.size() * sizeof(T));
    return static_cast<uint32_t>(place);
  }

  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

/// The mean of `taps` neighbours, from the first to the last.
JpegResize means(Data& data, int from, int taps) {
  std::vector<int32_t> first;
  for (int i = 0; i < kSize; ++i) {
    first.push_back((from - taps) * i / (kSize - 1));
  }
  const std::vector<int32_t> weights(static_cast<size_t>(kSize * taps),
                                     (1 << kResizePrecision) / taps);
  const uint32_t place = data.put(first);
  return {place, data.put(weights), taps};
}

JpegPicture draw_picture(Data& data, Numbers& numbers, int width, int height,
                         int components, int across, int down) {
  JpegPicture picture{};
  picture.width = width;
  picture.height = height;
  picture.components = components;
  picture.chroma_across = across;
  picture.chroma_down = down;
  std::vector<uint16_t> tables;
  for (int i = 0; i < components * kBlockSize; ++i)
    tables.push_back(3 + i % 64);
  picture.tables = data.put(tables);
  for (int k = 0; k < components; ++k) {
    JpegPlane& plane = picture.planes[k];
    plane.width = k == 0 ? width : (width + across - 1) / across;
    plane.height = k == 0 ? height : (height + down - 1) / down;
    plane.blocks_across = (plane.width + kBlockSide - 1) / kBlockSide;
    plane.blocks_down = (plane.height + kBlockSide - 1) / kBlockSide;
    std::vector<int16_t> coefficients;
    for (int64_t i = 0; i < plane.blocks() * kBlockSize; ++i) {
      const double most = i % kBlockSize == 0 ? 200 : i % 3 == 0 ? 12 : 0;
      coefficients.push_back(static_cast<int16_t>(most * numbers.next()));
    }
    plane.coefficients = data.put(coefficients);
  }
  picture.across = means(data, width, 3);
  picture.down = means(data, height, 2);
  picture.row_count = height;
  return picture;
}

bool jpeg_pixels_are_right() {
  struct Kind {
    int width, height, components, across, down;
  };
  constexpr Kind kKinds[] = {{37, 50, 3, 2, 2},
                             {64, 9, 3, 2, 1},
                             {21, 33, 3, 1, 1},
                             {3, 90, 3, 2, 2},
                             {40, 40, 1, 1, 1}};
  std::vector<JpegPicture> pictures;
  Data data(std::size(kKinds) * sizeof(JpegPicture));
  Numbers numbers(9);
  size_t row_bytes = 0;
  for (const auto& [width, height, components, across, down] : kKinds) {
    pictures.push_back(
        draw_picture(data, numbers, width, height, components, across, down));
    pictures.back().position = std::ssize(pictures) - 1;
    pictures.back().rows = static_cast<uint32_t>(row_bytes);
    row_bytes += static_cast<size_t>(height) * kSize * 3;
  }
  std::memcpy(data.bytes().data(), pictures.data(),
              pictures.size() * sizeof(JpegPicture));
  const auto bytes = static_cast<int64_t>(data.bytes().size());
  const int64_t pixel_bytes = std::ssize(pictures) * kSize * kSize * 3;
  Shared<uint8_t> all_data(bytes), samples(bytes / 2);
  Shared<uint8_t> rows(static_cast<int64_t>(row_bytes));
  Shared<uint8_t> found(pixel_bytes), expected(pixel_bytes);
  std::memcpy(all_data.data(), data.bytes().data(), data.bytes().size());
  JpegPictures all;
  all.pictures = reinterpret_cast<const JpegPicture*>(all_data.data());
  all.count = static_cast<int>(pictures.size());
  all.size = kSize;
  all.data = all_data.data();
  all.samples = samples.data();
  all.rows = rows.data();
  all.pixels = found.data();
  gpu_jpeg.to_pixels(all, nullptr);
  finish();
  all.pixels = expected.data();
  jpeg_to_pixels(all);
  return std::memcmp(found.data(), expected.data(),
                     static_cast<size_t>(pixel_bytes)) == 0;
}

const bool kJpegAdded = add_check("JPEG pixels", jpeg_pixels_are_right);

}  // namespace
}  // namespace kith::racecheck
