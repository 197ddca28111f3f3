#include "kith/image/encode.h"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include <jpeglib.h>
#include <png.h>

#include "kith/core/error.h"
#include "kith/core/file.h"

namespace kith {
namespace {

void check_encodable(const Image& image) {
  if (image.width <= 0 || image.height <= 0) {
    throw DataError("the picture is empty: it has no pixels to encode");
  }
  KITH_ASSERT(image.channels == 1 || image.channels == 3);
  KITH_ASSERT(image.pixels.size() == static_cast<size_t>(image.width) *
                                         static_cast<size_t>(image.height) *
                                         static_cast<size_t>(image.channels));
}

// Both libraries report errors by a call that must not return. The one frame
// that the jump crosses holds nothing that has a destructor.
class PngEncoder {
 public:
  PngEncoder() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error,
                                   on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngEncoder() { png_destroy_write_struct(&png_, &info_); }
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;

  bool encode(const Image& image) {
    if (info_ == nullptr || setjmp(jump_) != 0) return false;
    png_set_write_fn(png_, this, on_write, nullptr);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_compression_level(png_, 6);
    png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_FILTER_PAETH);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width),
                 static_cast<png_uint_32>(image.height), 8,
                 image.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (int y = 0; y < image.height; ++y) png_write_row(png_, image.row(y));
    png_write_end(png_, nullptr);
    return true;
  }

  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp) {
    std::longjmp(static_cast<PngEncoder*>(png_get_error_ptr(png))->jump_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}

  // An exception must not cross the frames of libpng.
  static void on_write(png_structp png, png_bytep data, size_t size) {
    auto* self = static_cast<PngEncoder*>(png_get_io_ptr(png));
    if (!self->append(data, size)) png_error(png, "out of memory");
  }

  bool append(const uint8_t* data, size_t size) noexcept {
    try {
      bytes_.insert(bytes_.end(), data, data + size);
      return true;
    } catch (...) {
      return false;
    }
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_{};
  std::vector<uint8_t> bytes_;
};

class JpegEncoder {
 public:
  JpegEncoder() {
    info_.err = jpeg_std_error(&error_);
    info_.client_data = this;
    error_.error_exit = on_error;
    error_.emit_message = [](j_common_ptr, int) {};
  }
  ~JpegEncoder() {
    jpeg_destroy_compress(&info_);
    std::free(buffer_);  // allocated by jpeg_mem_dest
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  bool encode(const Image& image, int quality) {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &buffer_, &size_);
    info_.image_width = static_cast<JDIMENSION>(image.width);
    info_.image_height = static_cast<JDIMENSION>(image.height);
    info_.input_components = image.channels;
    info_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    for (int y = 0; y < image.height; ++y) {
      // The interface is not const-correct; libjpeg only reads.
      JSAMPROW row = const_cast<uint8_t*>(image.row(y));
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  std::vector<uint8_t> bytes() const { return {buffer_, buffer_ + size_}; }

 private:
  [[noreturn]] static void on_error(j_common_ptr info) {
    std::longjmp(static_cast<JpegEncoder*>(info->client_data)->jump_, 1);
  }

  jpeg_compress_struct info_{};
  jpeg_error_mgr error_{};
  std::jmp_buf jump_{};
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
};

std::string size_text(const Image& image) {
  return std::to_string(image.width) + " x " + std::to_string(image.height);
}

}  // namespace

std::vector<uint8_t> encode_png(const Image& image) {
  check_encodable(image);
  PngEncoder encoder;
  // All else that could go wrong has been checked.
  if (!encoder.encode(image)) throw std::bad_alloc();
  return encoder.take();
}

void write_png(const std::string& path, const Image& image) {
  const std::vector<uint8_t> bytes = encode_png(image);
  write_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()),
                                    bytes.size()));
}

std::vector<uint8_t> encode_jpeg(const Image& image, int quality) {
  check_encodable(image);
  KITH_ASSERT(quality >= 1 && quality <= 100);
  if (std::max(image.width, image.height) > JPEG_MAX_DIMENSION) {
    throw RunError("cannot encode a JPEG of " + size_text(image) +
                   ": its sides have at most " +
                   std::to_string(JPEG_MAX_DIMENSION) + " pixels");
  }
  JpegEncoder encoder;
  if (!encoder.encode(image, quality)) throw std::bad_alloc();
  return encoder.bytes();
}

}  // namespace kith
