// BMP by hand: Debian has no maintained library that reads it alone, and the
// format is a header and rows. Every offset is checked against the file.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/image/composite.h"
#include "kith/image/decode.h"

namespace kith::detail {
namespace {

enum BmpCompression : uint32_t {
  kPlain = 0,
  kRle8 = 1,
  kRle4 = 2,
  kBitFields = 3,
  kAlphaBitFields = 6,
};

/// What the headers of a BMP say.
struct BmpHeader {
  uint32_t size = 0;  ///< Of the second header, which tells its kind.
  int64_t width = 0;
  int64_t height = 0;
  bool top_down = false;
  uint32_t bits = 0;  ///< Of a pixel.
  uint32_t compression = kPlain;
  uint64_t pixels_at = 0;
  std::array<uint32_t, 4> masks = {};  ///< Red, green, blue, alpha.
  std::vector<std::array<uint8_t, 3>> palette = {};
};

class BmpReader {
 public:
  BmpReader(std::span<const uint8_t> bytes, const std::string& name,
            const DecodeLimits& limits)
      : bytes_(bytes), name_(name), limits_(limits) {}

  Image read() {
    read_header();
    check_size(static_cast<uint64_t>(header_.width),
               static_cast<uint64_t>(header_.height), name_, limits_);
    if (header_.bits <= 8) read_palette();
    if (header_.compression == kRle8 || header_.compression == kRle4) {
      return read_runs();
    }
    return header_.bits <= 8 ? read_indices() : read_colours();
  }

 private:
  static constexpr uint32_t kFileHeader = 14;
  static constexpr uint32_t kCoreHeader = 12;  ///< Of OS/2.
  static constexpr uint32_t kInfoHeader = 40;

  [[noreturn]] void fail(const std::string& why) const {
    throw DataError(name_ + ": truncated or corrupt BMP: " + why);
  }

  uint32_t number(uint64_t offset, int count) const {
    if (offset + static_cast<uint64_t>(count) > bytes_.size()) {
      fail("the file ends too early");
    }
    uint32_t value = 0;
    for (int i = count - 1; i >= 0; --i) {
      value = value << 8 | bytes_[offset + static_cast<uint64_t>(i)];
    }
    return value;
  }

  void read_header() {
    header_.pixels_at = number(10, 4);
    header_.size = number(kFileHeader, 4);
    if (header_.size == kCoreHeader) {
      header_.width = number(18, 2);
      header_.height = number(20, 2);
      header_.bits = number(24, 2);
    } else if (header_.size >= kInfoHeader && header_.size <= 256) {
      header_.width = static_cast<int32_t>(number(18, 4));
      header_.height = static_cast<int32_t>(number(22, 4));
      header_.bits = number(28, 2);
      header_.compression = number(30, 4);
    } else {
      fail("a header of " + std::to_string(header_.size) + " bytes");
    }
    header_.top_down = header_.height < 0;
    if (header_.top_down) header_.height = -header_.height;
    if (header_.width < 0) fail("a negative width");
    check_kind();
    read_masks();
  }

  void check_kind() const {
    const uint32_t bits = header_.bits;
    bool known = false;
    switch (header_.compression) {
      case kPlain:
        known = bits == 1 || bits == 4 || bits == 8 || bits == 16 ||
                bits == 24 || bits == 32;
        break;
      case kRle8:
        known = bits == 8 && !header_.top_down;
        break;
      case kRle4:
        known = bits == 4 && !header_.top_down;
        break;
      case kBitFields:
      case kAlphaBitFields:
        known = bits == 16 || bits == 32;
        break;
      default:
        break;
    }
    if (known) return;
    throw DataError(
        name_ + ": a BMP of " + std::to_string(bits) +
        " bits a pixel with compression " +
        std::to_string(header_.compression) +
        " is not supported; save the picture as PNG with another program");
  }

  void read_masks() {
    if (header_.compression == kPlain) {
      header_.masks = header_.bits == 16
                          ? std::array<uint32_t, 4>{0x7c00, 0x3e0, 0x1f, 0}
                          : std::array<uint32_t, 4>{0xff0000, 0xff00, 0xff, 0};
      return;
    }
    if (header_.compression == kRle8 || header_.compression == kRle4) return;
    // Behind a header of 40 bytes, within a longer one: the same place.
    constexpr uint32_t kMasks = kFileHeader + kInfoHeader;
    const bool has_alpha =
        header_.compression == kAlphaBitFields || header_.size >= 56;
    for (uint32_t i = 0; i < (has_alpha ? 4 : 3); ++i) {
      const uint32_t mask = number(kMasks + 4 * i, 4);
      const bool is_run =
          mask == 0 ||
          std::has_single_bit((mask >> std::countr_zero(mask)) + uint64_t{1});
      if (!is_run) fail("a mask that is not one run of bits");
      header_.masks[i] = mask;
    }
  }

  void read_palette() {
    const bool core = header_.size == kCoreHeader;
    const uint64_t entry = core ? 3 : 4;
    uint64_t count = uint64_t{1} << header_.bits;
    if (!core) {
      const uint32_t used = number(46, 4);
      if (used > 0) count = std::min<uint64_t>(count, used);
    }
    const uint64_t begin = uint64_t{kFileHeader} + header_.size;
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t colour = number(begin + entry * i, 3);
      header_.palette.push_back({static_cast<uint8_t>(colour >> 16),
                                 static_cast<uint8_t>(colour >> 8),
                                 static_cast<uint8_t>(colour)});
    }
    // Indices beyond a short palette are black, as other readers have it.
    header_.palette.resize(256);
  }

  /// Row y of the picture, from the top.
  const uint8_t* row_at(int64_t y, uint64_t stride) const {
    const int64_t row = header_.top_down ? y : header_.height - 1 - y;
    return bytes_.data() + header_.pixels_at +
           static_cast<uint64_t>(row) * stride;
  }

  /// Bytes of a row, all of which are in the file.
  uint64_t checked_stride() const {
    const uint64_t bits = static_cast<uint64_t>(header_.width) * header_.bits;
    const uint64_t stride = (bits + 31) / 32 * 4;
    const uint64_t needed = stride * static_cast<uint64_t>(header_.height);
    if (header_.pixels_at > bytes_.size() ||
        bytes_.size() - header_.pixels_at < needed) {
      fail("the file ends too early");
    }
    return stride;
  }

  Image blank(int channels) const {
    return Image(static_cast<int>(header_.width),
                 static_cast<int>(header_.height), channels);
  }

  Image read_indices() const {
    const uint64_t stride = checked_stride();
    Image image = blank(3);
    const uint32_t bits = header_.bits;
    const uint32_t mask = (1u << bits) - 1;
    for (int y = 0; y < image.height; ++y) {
      const uint8_t* from = row_at(y, stride);
      uint8_t* to = image.row(y);
      for (uint64_t x = 0; x < static_cast<uint64_t>(image.width); ++x) {
        const uint64_t bit = x * bits;
        const uint32_t index = from[bit / 8] >> (8 - bits - bit % 8) & mask;
        to = std::copy_n(header_.palette[index].begin(), 3, to);
      }
    }
    return image;
  }

  /// The bits of a mask, scaled to 0..255 with rounding.
  static uint8_t scaled(uint32_t value, uint32_t mask) {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const uint64_t most = mask >> shift;
    const uint64_t part = (value & mask) >> shift;
    return static_cast<uint8_t>((part * 255 + most / 2) / most);
  }

  Image read_colours() const {
    const uint64_t stride = checked_stride();
    const bool has_alpha = header_.masks[3] != 0;
    const int channels = has_alpha ? 4 : 3;
    Image image = blank(channels);
    const uint64_t size = header_.bits / 8;
    bool is_visible = !has_alpha;
    for (int y = 0; y < image.height; ++y) {
      const uint8_t* from = row_at(y, stride);
      uint8_t* to = image.row(y);
      for (int x = 0; x < image.width; ++x, from += size, to += channels) {
        uint32_t value = 0;
        for (uint64_t i = 0; i < size; ++i) {
          value |= uint32_t{from[i]} << (8 * i);
        }
        for (int c = 0; c < channels; ++c) {
          to[c] = scaled(value, header_.masks[static_cast<size_t>(c)]);
        }
        if (has_alpha) is_visible = is_visible || to[3] != 0;
      }
    }
    if (!has_alpha) return image;
    // Programs that know of no transparency write zeros there.
    if (!is_visible) {
      for (size_t i = 3; i < image.pixels.size(); i += 4) image.pixels[i] = 255;
    }
    return composite_on_white(image.pixels, image.width, image.height, 4);
  }

  /// Run lengths. What no run sets has index 0.
  Image read_runs() const {
    // Two bytes make 255 pixels at most: a header that promises more than the
    // file can hold is refused before the memory is taken.
    const auto pixels = static_cast<uint64_t>(header_.width) *
                        static_cast<uint64_t>(header_.height);
    if (pixels / 256 > bytes_.size()) {
      fail(std::to_string(bytes_.size()) +
           " bytes cannot hold a picture of this size");
    }
    Image image = blank(3);
    for (size_t i = 0; i < image.pixels.size(); i += 3) {
      std::copy_n(header_.palette[0].begin(), 3, &image.pixels[i]);
    }
    int64_t x = 0;
    int64_t y = 0;
    const auto set = [&](uint32_t index) {
      if (x >= header_.width || y >= header_.height) {
        fail("a run leaves the picture");
      }
      uint8_t* to = image.row(static_cast<int>(header_.height - 1 - y)) + 3 * x;
      std::copy_n(header_.palette[index].begin(), 3, to);
      ++x;
    };
    const bool nibbles = header_.compression == kRle4;
    const auto index_of = [&](uint32_t byte, uint32_t i) {
      if (!nibbles) return byte;
      return i % 2 == 0 ? byte >> 4 : byte & 15;
    };
    for (uint64_t at = header_.pixels_at;;) {
      const uint32_t count = number(at, 1);
      const uint32_t value = number(at + 1, 1);
      at += 2;
      if (count > 0) {
        for (uint32_t i = 0; i < count; ++i) set(index_of(value, i));
      } else if (value == 0) {  // the end of a row
        x = 0;
        ++y;
      } else if (value == 1) {  // the end of the picture
        return image;
      } else if (value == 2) {  // a jump
        x += number(at, 1);
        y += number(at + 1, 1);
        at += 2;
      } else {  // indices one by one, padded to a multiple of two bytes
        const uint32_t bytes = nibbles ? (value + 1) / 2 : value;
        for (uint32_t i = 0; i < value; ++i) {
          set(index_of(number(at + (nibbles ? i / 2 : i), 1), i));
        }
        at += bytes + bytes % 2;
      }
    }
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  const DecodeLimits& limits_;
  BmpHeader header_;
};

}  // namespace

Image decode_bmp(std::span<const uint8_t> bytes, const std::string& name,
                 const DecodeLimits& limits) {
  return BmpReader(bytes, name, limits).read();
}

}  // namespace kith::detail
