#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <png.h>

#include "kith/core/error.h"
#include "kith/image/composite.h"
#include "kith/image/decode.h"

namespace kith::detail {
namespace {

// As in the JPEG decoder: each step runs under its own setjmp and holds
// nothing that has a destructor.
class PngDecoder {
 public:
  PngDecoder(std::span<const uint8_t> bytes, const std::string& name,
             const DecodeLimits& limits)
      : name_(name), rest_(bytes), clock_(limits, bytes.size()) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error,
                                  on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw RunError(name + ": cannot decode: libpng does not start");
    }
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  png_structp png() { return png_; }
  png_infop info() { return info_; }
  DecodeClock& clock() { return clock_; }

  /// In the middle of a step, where nothing can be thrown.
  void check_time() {
    if (clock_.is_over()) std::longjmp(jump_, 1);
  }

  void read_header() {
    guarded([&] {
      png_set_read_fn(png_, this, on_read);
      // All chunks but those that make the pixels (IHDR, PLTE, tRNS, IDAT) are
      // skipped: libpng would unpack and keep up to 1000 texts of 8 MB.
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
      // Our own limits give the better message.
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
      png_read_info(png_, info_);
    });
  }

  template <typename Step>
  void guarded(const Step& step) {
    if (setjmp(jump_) != 0) {
      if (clock_.is_over()) throw DataError(name_ + ": " + clock_.message());
      throw DataError(name_ + ": truncated or corrupt PNG: " + message_);
    }
    step();
  }

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof self->message_, "%s", text);
    std::longjmp(self->jump_, 1);
  }

  // Unlike those of libjpeg, warnings never mean lost pixels.
  static void on_warning(png_structp, png_const_charp) {}

  static void on_read(png_structp png, png_bytep out, size_t size) {
    auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    self->check_time();
    if (size > self->rest_.size()) png_error(png, "the file ends too early");
    std::memcpy(out, self->rest_.data(), size);
    self->rest_ = self->rest_.subspan(size);
  }

  const std::string& name_;
  std::span<const uint8_t> rest_;
  DecodeClock clock_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_{};
  char message_[128] = {};
};

// Everything to 8-bit grey or RGB, with alpha where there is transparency.
void set_transforms(png_structp png, png_infop info) {
  if (png_get_bit_depth(png, info) == 16) png_set_scale_16(png);
  const png_byte color = png_get_color_type(png, info);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (color == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png, info) < 8) {
    png_set_expand_gray_1_2_4_to_8(png);
  }
  if (png_get_valid(png, info, PNG_INFO_tRNS) != 0) {
    png_set_tRNS_to_alpha(png);
  }
}

// Deflate shrinks by at most about 1032 times: a header that promises more
// than the file can hold is refused before the memory is taken.
void check_plausible(uint64_t raw_bytes, size_t file_bytes,
                     const std::string& name) {
  constexpr uint64_t kMaxRatio = 1100;
  if (raw_bytes / kMaxRatio > file_bytes) {
    throw DataError(
        name + ": truncated or corrupt PNG: " + std::to_string(file_bytes) +
        " bytes cannot hold a picture of this size");
  }
}

}  // namespace

Image decode_png(std::span<const uint8_t> bytes, const std::string& name,
                 const DecodeLimits& limits) {
  PngDecoder decoder(bytes, name, limits);
  decoder.read_header();
  png_structp png = decoder.png();
  png_infop info = decoder.info();
  const png_uint_32 width = png_get_image_width(png, info);
  const png_uint_32 height = png_get_image_height(png, info);
  check_size(width, height, name, limits);
  decoder.clock().add_pixels(uint64_t{width} * height);
  check_plausible(uint64_t{png_get_rowbytes(png, info)} * height, bytes.size(),
                  name);

  int passes = 1;
  decoder.guarded([&] {
    set_transforms(png, info);
    passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
  const int channels = png_get_channels(png, info);
  const size_t stride = png_get_rowbytes(png, info);
  KITH_ASSERT(stride == size_t{width} * static_cast<size_t>(channels));
  std::vector<uint8_t> pixels(stride * height);
  decoder.guarded([&] {
    // Each pass of an interlaced file fills in some pixels of every row.
    for (int pass = 0; pass < passes; ++pass) {
      for (size_t y = 0; y < height; ++y) {
        decoder.check_time();
        png_read_row(png, pixels.data() + y * stride, nullptr);
      }
    }
    png_read_end(png, nullptr);
  });
  const int w = static_cast<int>(width);
  const int h = static_cast<int>(height);
  if (channels == 2 || channels == 4) {
    return composite_on_white(pixels, w, h, channels);
  }
  Image image;
  image.width = w;
  image.height = h;
  image.channels = channels;
  image.pixels = std::move(pixels);
  return image;
}

}  // namespace kith::detail
