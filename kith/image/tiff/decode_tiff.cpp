// TIFF by libtiff. It takes no more memory at once than the size of the picture
// and of the file explain (TIFFOpenOptions, libtiff 4.5), and as WebP its work
// is linear in both.

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <tiffio.h>

#include "kith/core/error.h"
#include "kith/image/decode.h"

namespace kith::detail {
namespace {

/// A file in memory, and the first thing libtiff said was wrong with it.
struct TiffSource {
  std::span<const uint8_t> bytes;
  uint64_t at = 0;
  char problem[256] = {};
};

TiffSource& tiff_source(thandle_t handle) {
  return *static_cast<TiffSource*>(handle);
}

tmsize_t read_tiff(thandle_t handle, void* out, tmsize_t wanted) {
  TiffSource& source = tiff_source(handle);
  const uint64_t size = source.bytes.size();
  const uint64_t left = source.at < size ? size - source.at : 0;
  const auto count =
      std::min(left, static_cast<uint64_t>(std::max<tmsize_t>(wanted, 0)));
  if (count > 0) std::memcpy(out, source.bytes.data() + source.at, count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t refuse_write(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek_tiff(thandle_t handle, toff_t offset, int whence) {
  TiffSource& source = tiff_source(handle);
  const uint64_t from = whence == SEEK_CUR   ? source.at
                        : whence == SEEK_END ? source.bytes.size()
                                             : 0;
  source.at = from + offset;
  return source.at;
}

int close_tiff(thandle_t) { return 0; }

toff_t size_of_tiff(thandle_t handle) {
  return tiff_source(handle).bytes.size();
}

/// Without it libtiff writes to standard error.
int keep_problem(TIFF*, void* user, const char*, const char* format,
                 va_list arguments) {
  auto* source = static_cast<TiffSource*>(user);
  if (source->problem[0] == '\0') {
    std::vsnprintf(source->problem, sizeof source->problem, format, arguments);
  }
  return 1;
}

/// Of tags that are not known, mostly: they say nothing of the pixels.
int ignore_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

struct TiffCloser {
  void operator()(TIFF* file) const { TIFFClose(file); }
  void operator()(TIFFOpenOptions* options) const {
    TIFFOpenOptionsFree(options);
  }
};

using TiffFile = std::unique_ptr<TIFF, TiffCloser>;

[[noreturn]] void fail_tiff(const TiffSource& source, const std::string& name) {
  throw DataError(
      name + ": truncated, corrupt or unsupported TIFF: " +
      (source.problem[0] == '\0' ? "it cannot be read" : source.problem));
}

/// Opens the first picture; `most_bytes` is the most memory to take at once.
TiffFile open_tiff(TiffSource& source, const std::string& name,
                   uint64_t most_bytes) {
  const std::unique_ptr<TIFFOpenOptions, TiffCloser> options(
      TIFFOpenOptionsAlloc());
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(),
                                      static_cast<tmsize_t>(most_bytes));
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_problem, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_warning, nullptr);
  source.at = 0;
  // m: no memory map. The name is for messages, which have it already.
  TiffFile file(TIFFClientOpenExt("", "rm", &source, read_tiff, refuse_write,
                                  seek_tiff, close_tiff, size_of_tiff, nullptr,
                                  nullptr, options.get()));
  if (!file) fail_tiff(source, name);
  return file;
}

uint32_t tiff_number(TIFF* file, uint32_t tag, const TiffSource& source,
                     const std::string& name) {
  uint32_t value = 0;
  if (TIFFGetField(file, tag, &value) == 0) fail_tiff(source, name);
  return value;
}

/// The picture as libtiff made it, 8 bits of red, green, blue and alpha, the
/// colours multiplied by alpha already.
Image image_of(const uint32_t* raster, int width, int height, bool has_alpha,
               bool is_grey) {
  Image image(width, height, is_grey ? 1 : 3);
  uint8_t* to = image.pixels.data();
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t pixel = raster[i];
    const uint32_t white = has_alpha ? 255 - TIFFGetA(pixel) : 0;
    const auto on_white = [&](uint32_t value) {
      return static_cast<uint8_t>(std::min<uint32_t>(value + white, 255));
    };
    *to++ = on_white(TIFFGetR(pixel));
    if (is_grey) continue;
    *to++ = on_white(TIFFGetG(pixel));
    *to++ = on_white(TIFFGetB(pixel));
  }
  return image;
}

}  // namespace

bool has_tiff() { return true; }

StoredImage decode_tiff(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeLimits& limits) {
  TiffSource source{.bytes = bytes};
  constexpr uint64_t kRoom = 1 << 20;
  uint64_t width = 0;
  uint64_t height = 0;
  {
    const TiffFile header = open_tiff(source, name, kRoom + 8 * bytes.size());
    width = tiff_number(header.get(), TIFFTAG_IMAGEWIDTH, source, name);
    height = tiff_number(header.get(), TIFFTAG_IMAGELENGTH, source, name);
  }
  check_size(width, height, name, limits);
  // Up to four samples of 16 bits a pixel, and tiles that overhang.
  const TiffFile file =
      open_tiff(source, name, kRoom + 8 * bytes.size() + 16 * width * height);
  uint16_t orientation = 1;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_ORIENTATION, &orientation);
  if (orientation < 1 || orientation > 8) orientation = 1;

  char refused[1024] = {};
  TIFFRGBAImage reader{};
  if (TIFFRGBAImageOK(file.get(), refused) == 0 ||
      TIFFRGBAImageBegin(&reader, file.get(), /*stop=*/1, refused) == 0) {
    throw DataError(name + ": a TIFF that is not supported: " + refused +
                    "; save the picture as PNG with another program");
  }
  const std::unique_ptr<TIFFRGBAImage, decltype(&TIFFRGBAImageEnd)> end(
      &reader, TIFFRGBAImageEnd);
  // As it is stored: who asked for upright pixels gets them turned later.
  reader.orientation = ORIENTATION_TOPLEFT;
  reader.req_orientation = ORIENTATION_TOPLEFT;
  const bool has_alpha = reader.alpha != 0;
  const bool is_grey = !has_alpha && reader.samplesperpixel == 1 &&
                       (reader.photometric == PHOTOMETRIC_MINISBLACK ||
                        reader.photometric == PHOTOMETRIC_MINISWHITE);
  // Not filled with zeros: where pixels are missing, none of it is touched.
  const std::unique_ptr<uint32_t[]> raster(new uint32_t[width * height]);
  if (TIFFRGBAImageGet(&reader, raster.get(), static_cast<uint32_t>(width),
                       static_cast<uint32_t>(height)) == 0 ||
      source.problem[0] != '\0') {
    fail_tiff(source, name);
  }
  return {image_of(raster.get(), static_cast<int>(width),
                   static_cast<int>(height), has_alpha, is_grey),
          orientation};
}

}  // namespace kith::detail
