#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kith {

/// Image files written byte by byte, independent of libpng and libjpeg, for
/// the kinds that kith itself never writes. Bytes are held in strings.

void put_big_endian(std::string& bytes, uint32_t value, int width);

/// A zlib stream of stored blocks, that is without compression.
std::string stored_zlib(std::string_view data);

struct RawPng {
  uint32_t width = 1;
  uint32_t height = 1;
  char depth = 8;
  char color_type = 0;  ///< 0 grey, 2 RGB, 3 palette, 4 grey+alpha, 6 RGBA
  char interlace = 0;
  std::string rows = {};     ///< Each row starts with its filter byte, here 0.
  std::string palette = {};  ///< PLTE, left out if empty.
  std::string alpha = {};    ///< tRNS, left out if empty.
};
std::string raw_png(const RawPng& png);

/// The same file with the check sum of every complete chunk made right.
std::string repair_png(std::string bytes);

struct FlatJpeg {
  std::string components;    ///< Value of each component, as stored.
  int adobe_transform = -1;  ///< -1: no Adobe marker.
  int width = 8;             ///< As claimed; the data is one block.
  int height = 8;
};
/// An 8 x 8 baseline picture of one colour.
std::string flat_jpeg(const FlatJpeg& jpeg);

/// A valid flat grey 8 x 8 progressive picture with 1 + 10 * coefficients
/// scans; 0 <= coefficients <= 63.
std::string many_scans_jpeg(int coefficients);

/// Puts an EXIF segment with this orientation after the start of a JPEG.
std::string with_orientation(std::string_view jpeg, int orientation);

}  // namespace kith
