#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kith/core/error.h"
#include "kith/data/image.h"

namespace kith {

/// Larger pictures are refused from their header, before memory is taken.
struct DecodeLimits {
  int64_t max_pixels = 178'956'970;  ///< PIL's own: 512 MiB as RGB.
  int max_side = 65'535;
};

/// A picture that exceeds the limits.
class TooLargeError : public DataError {
 public:
  using DataError::DataError;
};

/// Decodes a PNG or JPEG, told apart by content and not by name, to 8 bits per
/// channel: grey pictures have 1 channel, all others 3 (RGB).
///
/// Transparency is composited on white. Palettes are expanded, 16 bits scaled
/// to 8 with rounding. CMYK and YCCK are converted to RGB without a profile,
/// read as inverted if an Adobe marker is present. A JPEG is turned upright by
/// its EXIF orientation. Colour profiles and gamma are ignored. But for the
/// turn, grey and YCbCr JPEGs have the pixels that Pillow gives.
///
/// A JPEG is always decoded in full. libjpeg's decoding at half size takes a
/// third less time, but after a resize to a quarter of the size 25 % to 30 % of
/// the values differed by more than one grey level, some by 45. Decoding only a
/// crop is exact but saves 20 %, and would tie the decoder to the augmentation.
///
/// DataError naming the file if it is not an image of these formats, too large
/// for the limits (TooLargeError), truncated (even by its last byte) or
/// corrupt.
Image decode_image(const std::string& path, const DecodeLimits& limits = {});

/// The same from memory; `name` stands for the path in messages.
Image decode_image(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeLimits& limits = {});

namespace detail {

Image decode_jpeg(std::span<const uint8_t> bytes, const std::string& name,
                  const DecodeLimits& limits);
Image decode_png(std::span<const uint8_t> bytes, const std::string& name,
                 const DecodeLimits& limits);

/// DataError if a picture of this size is empty, TooLargeError if it exceeds
/// the limits.
void check_size(uint64_t width, uint64_t height, const std::string& name,
                const DecodeLimits& limits);

}  // namespace detail
}  // namespace kith
