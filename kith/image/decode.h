#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kith/core/error.h"
#include "kith/image/image.h"
#include "kith/image/orientation.h"

namespace kith {

/// Larger pictures are refused from their header, before memory is taken.
///
/// A picture takes 3 bytes a pixel, a progressive JPEG 9 and one of CMYK 11:
/// libjpeg keeps all of its coefficients until the last scan. A WebP takes up
/// to 11, a TIFF 7 and up to 8 for what is packed together in it.
struct DecodeLimits {
  int64_t max_pixels = 178'956'970;  ///< PIL's own: 512 MiB as RGB.
  int max_side = 65'535;
  /// Processor time: `seconds` for every picture, and more for each million of
  /// its pixels and of the bytes of its file. Ten times what the slowest honest
  /// file needs, a progressive JPEG of noise; 21 s for 64 million pixels in 30
  /// MB.
  double seconds = 2.0;
  double seconds_per_million = 0.2;
};

/// A picture that exceeds the limits.
class TooLargeError : public DataError {
 public:
  using DataError::DataError;
};

/// Decodes a picture of one of image_formats(), told apart by content and not
/// by name, to 8 bits per channel: grey JPEG, PNG and TIFF have 1 channel, all
/// others 3 (RGB). Of files with several pictures the first one is read.
///
/// Transparency is composited on white. Palettes are expanded, 16 bits scaled
/// to 8 with rounding. CMYK and YCCK are converted to RGB without a profile,
/// read as inverted if an Adobe marker is present. A JPEG is turned upright by
/// its EXIF orientation, a TIFF by its own. Colour profiles and gamma are
/// ignored. But for the turn, grey and YCbCr JPEGs have the pixels that Pillow
/// gives.
///
/// A JPEG is always decoded in full. libjpeg's decoding at half size takes a
/// third less time, but after a resize to a quarter of the size 25 % to 30 % of
/// the values differed by more than one grey level, some by 45. Decoding only a
/// crop is exact but saves 20 %, and would tie the decoder to the augmentation.
///
/// DataError naming the file if it is not an image of these formats, too large
/// for the limits (TooLargeError), truncated (a PNG or JPEG even by its last
/// byte), corrupt, or made to take longer than the limits allow; also if it is
/// a WebP or TIFF and the library for it was not there when kith was built.
Image decode_image(const std::string& path, const DecodeLimits& limits = {});

/// The same from memory; `name` stands for the path in messages.
Image decode_image(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeLimits& limits = {});

/// The bytes of a picture's file: DataError if it cannot be read, or has more
/// than any picture.
std::string read_image_file(const std::string& path);

/// The formats that are read: "JPEG", "PNG", "BMP", "GIF", and "WebP" and
/// "TIFF" if kith was built with libwebp and libtiff.
std::vector<std::string> image_formats();

/// The same as decode_image(), but the picture is not turned yet.
StoredImage decode_stored(const std::string& path,
                          const DecodeLimits& limits = {});
StoredImage decode_stored(std::span<const uint8_t> bytes,
                          const std::string& name,
                          const DecodeLimits& limits = {});

namespace detail {

StoredImage decode_jpeg(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeLimits& limits);
Image decode_png(std::span<const uint8_t> bytes, const std::string& name,
                 const DecodeLimits& limits);
Image decode_bmp(std::span<const uint8_t> bytes, const std::string& name,
                 const DecodeLimits& limits);
Image decode_gif(std::span<const uint8_t> bytes, const std::string& name,
                 const DecodeLimits& limits);

/// By libraries that may be missing; then they throw.
bool has_webp();
Image decode_webp(std::span<const uint8_t> bytes, const std::string& name,
                  const DecodeLimits& limits);
bool has_tiff();
StoredImage decode_tiff(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeLimits& limits);

/// The processor time of this thread since a decode began, against its limit.
class DecodeClock {
 public:
  DecodeClock(const DecodeLimits& limits, uint64_t file_bytes);

  /// Allows for the pixels, which are known only after the header.
  void add_pixels(uint64_t pixels);

  /// Asked in every step, for which it is cheap: it looks at the time only at
  /// every 16th. Once over, it stays so.
  bool is_over();

  /// What to say then: "decoding took more than 2.1 s of processor time ...".
  std::string message() const;

 private:
  double begin_;
  double limit_;
  double seconds_per_million_;
  unsigned asked_ = 0;
  bool is_over_ = false;
};

/// DataError if a picture of this size is empty, TooLargeError if it exceeds
/// the limits.
void check_size(uint64_t width, uint64_t height, const std::string& name,
                const DecodeLimits& limits);

}  // namespace detail
}  // namespace kith
