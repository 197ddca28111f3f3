#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kith {

/// A number with its lowest byte first.
inline std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

/// A BMP of any header and rows, for files that no encoder would write.
struct RawBmp {
  int32_t width = 1;
  int32_t height = 1;  ///< Negative: rows from the top.
  int bits = 24;
  uint32_t compression = 0;
  std::string between = {};  ///< Masks and palette.
  std::string rows = {};     ///< With their padding.
};

inline std::string raw_bmp(const RawBmp& bmp) {
  const size_t at = 14 + 40 + bmp.between.size();
  return "BM" + little_endian(at + bmp.rows.size(), 4) + std::string(4, '\0') +
         little_endian(at, 4) + little_endian(40, 4) +
         little_endian(static_cast<uint32_t>(bmp.width), 4) +
         little_endian(static_cast<uint32_t>(bmp.height), 4) +
         little_endian(1, 2) +
         little_endian(static_cast<uint64_t>(bmp.bits), 2) +
         little_endian(bmp.compression, 4) + std::string(20, '\0') +
         bmp.between + bmp.rows;
}

/// A GIF of one picture on a screen. `codes` are LZW codes of 3 bits, for
/// colours 0 to 3: 4 clears the table, 5 ends. A table that is cleared before
/// every third code never grows to codes of 4 bits.
struct RawGif {
  int screen_width = 2;
  int screen_height = 2;
  int left = 0;
  int top = 0;
  int width = 2;
  int height = 2;
  bool interlaced = false;
  int transparent = -1;
  std::vector<int> codes = {4, 0, 1, 4, 2, 3, 5};
};

inline std::string raw_gif(const RawGif& gif) {
  const auto u16 = [](int value) {
    return little_endian(static_cast<uint64_t>(value), 2);
  };
  std::string text = "GIF89a" + u16(gif.screen_width) + u16(gif.screen_height) +
                     std::string("\x81\0\0", 3) + "abcdefghijkl";
  if (gif.transparent >= 0) {
    text += std::string("\x21\xf9\x04\x01\0\0", 6) +
            static_cast<char>(gif.transparent) + std::string(1, '\0');
  }
  text += "," + u16(gif.left) + u16(gif.top) + u16(gif.width) +
          u16(gif.height) + (gif.interlaced ? "\x40" : std::string(1, '\0')) +
          "\x02";
  std::string data;
  uint32_t buffer = 0;
  int held = 0;
  for (const int code : gif.codes) {
    buffer |= static_cast<uint32_t>(code) << held;
    for (held += 3; held >= 8; held -= 8, buffer >>= 8) {
      data += static_cast<char>(buffer);
    }
  }
  if (held > 0) data += static_cast<char>(buffer);
  for (size_t at = 0; at < data.size(); at += 255) {
    const std::string block = data.substr(at, 255);
    text += static_cast<char>(block.size()) + block;
  }
  return text + std::string(1, '\0') + ";";
}

/// A TIFF of one strip, little-endian.
struct RawTiff {
  uint32_t width = 1;
  uint32_t height = 1;
  uint32_t samples = 1;
  uint32_t photometric = 1;  ///< 1: grey, 2: RGB.
  uint32_t compression = 1;
  uint32_t orientation = 1;
  uint32_t extra = 0;          ///< 2: the last sample is alpha.
  uint32_t strip_bytes = ~0u;  ///< Said in the file; default: those it has.
  std::string pixels = {};
};

inline std::string raw_tiff(const RawTiff& tiff) {
  std::string tags;
  uint64_t count = 0;
  const auto tag = [&](uint32_t number, uint32_t value) {
    tags += little_endian(number, 2) + little_endian(4, 2) +
            little_endian(1, 4) + little_endian(value, 4);
    ++count;
  };
  const auto size = static_cast<uint32_t>(tiff.pixels.size());
  tag(256, tiff.width);
  tag(257, tiff.height);
  // All samples have 8 bits; a list of them would lie elsewhere.
  const std::string bits = little_endian(0x0008000800080008u, 8);
  if (tiff.samples <= 2) {
    tags += little_endian(258, 2) + little_endian(3, 2) +
            little_endian(tiff.samples, 4) + bits.substr(0, 4);
  } else {
    tags += little_endian(258, 2) + little_endian(3, 2) +
            little_endian(tiff.samples, 4) + little_endian(8, 4);
  }
  ++count;
  tag(259, tiff.compression);
  tag(262, tiff.photometric);
  tag(273, 16);
  tag(274, tiff.orientation);
  tag(277, tiff.samples);
  tag(278, tiff.height);
  tag(279, tiff.strip_bytes == ~0u ? size : tiff.strip_bytes);
  if (tiff.extra != 0) tag(338, tiff.extra);
  const std::string padding(size % 2, '\0');
  return "II*" + std::string(1, '\0') +
         little_endian(16 + size + padding.size(), 4) + bits + tiff.pixels +
         padding + little_endian(count, 2) + tags + std::string(4, '\0');
}

/// 3 x 2 pixels, lossless: red, green, blue; (10, 20, 30), (1, 2, 3), (200,
/// 100, 50). Written by libwebp 1.2.4.
inline std::string lossless_webp() {
  constexpr std::string_view kBytes(
      "\x52\x49\x46\x46\x46\x00\x00\x00\x57\x45\x42\x50\x56\x50\x38\x4c"
      "\x39\x00\x00\x00\x2f\x02\x40\x00\x00\x2f\x40\x10\x40\x52\x23\x4c"
      "\xb6\xbf\xcc\x1a\x64\xd2\x36\xa5\x5f\xfd\xfb\x99\xb5\x91\x09\x58"
      "\x0c\x15\x7c\xfa\xe7\x34\xff\x01\x7f\xc4\x23\x46\x9b\xad\xa0\x90"
      "\x6d\x04\x38\x74\xaf\xc0\xb1\x5c\x44\xff\x63\x78\x01\x00",
      78);
  return std::string(kBytes);
}

/// 2 x 2 pixels, lossless: red; transparent; blue, of which 128 / 255 is
/// opaque; (10, 20, 30).
inline std::string transparent_webp() {
  constexpr std::string_view kBytes(
      "\x52\x49\x46\x46\x30\x00\x00\x00\x57\x45\x42\x50\x56\x50\x38\x4c"
      "\x23\x00\x00\x00\x2f\x01\x40\x00\x10\x1f\x30\x14\x42\x02\x82\xea"
      "\xff\x5f\x02\x81\x24\x93\xfd\x29\x17\x90\x10\x9e\xcb\x72\x01\xd8"
      "\xbc\x25\xd6\x21\xa2\xff\x21\x00",
      56);
  return std::string(kBytes);
}

/// 16 x 16 grey pixels of about 100, with loss.
inline std::string lossy_webp() {
  constexpr std::string_view kBytes(
      "\x52\x49\x46\x46\x24\x00\x00\x00\x57\x45\x42\x50\x56\x50\x38\x20"
      "\x18\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x10\x00\x10\x00\x00\xc0"
      "\x12\x25\xa4\x00\x03\x70\x00\xfe\xf1\xd3\x80\x00",
      44);
  return std::string(kBytes);
}

/// The first picture of an animation: lossless_webp() at (2, 0) of a canvas of
/// 8 x 4 pixels.
inline std::string animated_webp() {
  const std::string picture = lossless_webp().substr(12);
  const std::string frame = little_endian(1, 3) + little_endian(0, 3) +
                            little_endian(2, 3) + little_endian(1, 3) +
                            little_endian(100, 3) + std::string(1, '\0') +
                            picture;
  const std::string body =
      "WEBPVP8X" + little_endian(10, 4) + little_endian(2, 4) +
      little_endian(7, 3) + little_endian(3, 3) + "ANIM" + little_endian(6, 4) +
      std::string(6, '\0') + "ANMF" + little_endian(frame.size(), 4) + frame;
  return "RIFF" + little_endian(body.size(), 4) + body;
}

}  // namespace kith
