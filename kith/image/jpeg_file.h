#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kith/image/decode.h"
#include "kith/image/jpeg_picture.h"

namespace kith {

namespace detail {
class JpegReader;
}

/// The first half of decoding a JPEG: undoing the Huffman code, which takes
/// more than half of the time and cannot be done in parallel. What remains,
/// jpeg_to_pixels() does, to the same pixels as decode_image(). Files are
/// judged as there, with the same errors.
class JpegFile {
 public:
  /// Reads the header. `bytes` and `name` must outlive the object.
  JpegFile(std::span<const uint8_t> bytes, const std::string& name,
           const DecodeLimits& limits = {});
  ~JpegFile();
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;

  /// Whether it is of the kind that nearly all files are: baseline, of 8 bits,
  /// grey or YCbCr with 4:4:4, 4:2:2 or 4:2:0, upright and not too wide.
  bool is_usual() const;

  /// Sizes and samplings of a usual file; no place is set.
  JpegPicture picture() const;

  /// Of the quantisation tables and the coefficients.
  static size_t bytes_of(const JpegPicture& picture);

  /// Reads all of a usual file to `memory`, bytes_of(picture) at `place` of
  /// what the picture counts from, and sets the places. False if EXIF data
  /// between its scans says that it is not upright.
  bool read(JpegPicture& picture, uint8_t* memory, uint32_t place);

 private:
  std::unique_ptr<detail::JpegReader> reader_;
};

}  // namespace kith
