#include "kith/image/orientation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "kith/core/error.h"

namespace kith {
namespace {

// Integers of a TIFF block, in the byte order it declares. Reading outside
// gives nothing.
class TiffReader {
 public:
  explicit TiffReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool read_byte_order() {
    if (bytes_.size() < 2 || bytes_[0] != bytes_[1]) return false;
    big_endian_ = bytes_[0] == 'M';
    return bytes_[0] == 'M' || bytes_[0] == 'I';
  }

  std::optional<uint32_t> read(uint64_t offset, unsigned width) const {
    if (offset > bytes_.size() || width > bytes_.size() - offset) return {};
    uint32_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
      const unsigned place = big_endian_ ? i : width - 1 - i;
      value = (value << 8) | bytes_[static_cast<size_t>(offset) + place];
    }
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool big_endian_ = false;
};

}  // namespace

int exif_orientation(std::span<const uint8_t> app1) {
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kPrefix = "Exif\0\0"sv;
  if (app1.size() < kPrefix.size() ||
      !std::equal(kPrefix.begin(), kPrefix.end(), app1.begin())) {
    return 1;
  }
  TiffReader tiff(app1.subspan(kPrefix.size()));
  if (!tiff.read_byte_order() || tiff.read(2, 2) != 42u) return 1;
  const uint64_t directory = tiff.read(4, 4).value_or(0);
  const uint32_t count = tiff.read(directory, 2).value_or(0);
  constexpr uint32_t kOrientationTag = 0x0112;
  constexpr uint32_t kShort = 3;
  constexpr uint32_t kLong = 4;  // not by the book, but some writers do
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t entry = directory + 2 + uint64_t{12} * i;
    const auto tag = tiff.read(entry, 2);
    if (!tag) return 1;
    if (*tag != kOrientationTag) continue;
    const uint32_t type = tiff.read(entry + 2, 2).value_or(0);
    if ((type != kShort && type != kLong) || tiff.read(entry + 4, 4) != 1u) {
      return 1;
    }
    const uint32_t value =
        tiff.read(entry + 8, type == kShort ? 2 : 4).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image apply_orientation(Image image, int orientation) {
  KITH_ASSERT(orientation >= 1 && orientation <= 8);
  if (orientation == 1) return image;
  // An output pixel (x, y) comes from (x, y), or (y, x) if swapped, counted
  // from the far end where flipped.
  const bool swap = orientation >= 5;
  const bool flip_x = orientation == 2 || orientation == 3 ||
                      orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 ||
                      orientation == 6 || orientation == 7;
  Image out(swap ? image.height : image.width,
            swap ? image.width : image.height, image.channels);
  for (int y = 0; y < out.height; ++y) {
    uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; ++x) {
      int from_x = swap ? y : x;
      int from_y = swap ? x : y;
      if (flip_x) from_x = image.width - 1 - from_x;
      if (flip_y) from_y = image.height - 1 - from_y;
      const uint8_t* from =
          image.row(from_y) + ptrdiff_t{from_x} * image.channels;
      to = std::copy_n(from, image.channels, to);
    }
  }
  return out;
}

Image rotate90(const Image& image, int quarter_turns) {
  constexpr int kOrientations[] = {1, 8, 3, 6};
  return apply_orientation(image, kOrientations[(quarter_turns % 4 + 4) % 4]);
}

}  // namespace kith
