#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/image/decode.h"
#include "kith/image/jpeg_reader.h"
#include "kith/image/orientation.h"

namespace kith::detail {
namespace {

J_COLOR_SPACE output_space(const jpeg_decompress_struct& info,
                           const std::string& name) {
  switch (info.jpeg_color_space) {
    case JCS_GRAYSCALE:
      return JCS_GRAYSCALE;
    case JCS_RGB:
    case JCS_YCbCr:
      return JCS_RGB;
    case JCS_CMYK:
    case JCS_YCCK:
      return JCS_CMYK;
    default:
      throw DataError(name + ": JPEG with " +
                      std::to_string(info.num_components) +
                      " unknown components; grey, RGB, YCbCr, CMYK and YCCK "
                      "are supported");
  }
}

uint8_t scale(int a, int b) {
  return static_cast<uint8_t>((a * b + 127) / 255);
}

// CMYK as ink (0 = none), or as light (255 = none) when inverted.
void cmyk_to_rgb(const uint8_t* cmyk, uint8_t* rgb, int width, bool inverted) {
  const int flip = inverted ? 0 : 255;
  for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int key = cmyk[3] ^ flip;
    for (int c = 0; c < 3; ++c) rgb[c] = scale(cmyk[c] ^ flip, key);
  }
}

}  // namespace

StoredImage decode_jpeg(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeLimits& limits) {
  JpegReader reader(bytes, name, limits);
  reader.read_header();
  jpeg_decompress_struct& info = reader.info();
  info.out_color_space = output_space(info, name);
  const bool cmyk = info.out_color_space == JCS_CMYK;
  const int channels = info.out_color_space == JCS_GRAYSCALE ? 1 : 3;

  reader.guarded([&] { jpeg_start_decompress(&info); });
  Image image(static_cast<int>(info.output_width),
              static_cast<int>(info.output_height), channels);
  std::vector<uint8_t> line(cmyk ? size_t{info.output_width} * 4 : 0);
  reader.guarded([&] {
    for (int y = 0; y < image.height; ++y) {
      JSAMPROW row = cmyk ? line.data() : image.row(y);
      jpeg_read_scanlines(&info, &row, 1);
      if (cmyk) {
        cmyk_to_rgb(line.data(), image.row(y), image.width,
                    info.saw_Adobe_marker != FALSE);
      }
    }
    jpeg_finish_decompress(&info);
  });
  return {std::move(image), reader.orientation()};
}

}  // namespace kith::detail
