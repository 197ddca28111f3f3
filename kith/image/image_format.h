#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kith {

/// A format of pictures, told by how a file begins.
struct ImageFormat {
  std::string_view name;  ///< As in image_formats(); empty: none that is known.
  std::string_view end;   ///< Of file names: ".jpg".
};

/// What decode_image() would take these bytes for. Whether the file is whole,
/// and whether this kith reads the format, decoding tells.
ImageFormat image_format(std::span<const uint8_t> bytes);
inline ImageFormat image_format(std::string_view bytes) {
  return image_format(
      std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

/// "JPEG, PNG, BMP and GIF": those of image_formats().
std::string image_formats_text();

}  // namespace kith
