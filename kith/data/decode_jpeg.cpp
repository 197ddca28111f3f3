#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it
#include <string>
#include <utility>
#include <vector>

#include <jerror.h>
#include <jpeglib.h>

#include "kith/core/error.h"
#include "kith/data/decode.h"
#include "kith/data/exif.h"

namespace kith::detail {
namespace {

// A small progressive file can ask for an absurd number of passes over a large
// picture. Real encoders write about ten.
constexpr int kMaxScans = 500;
/// With more than kUsualScans, also the pixels of all passes are bounded: the
/// work grows with both. These take about a second.
constexpr int kUsualScans = 20;
constexpr int64_t kMaxScanPixels = 2'000'000'000;

struct ErrorState {
  jpeg_error_mgr manager{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void fail(j_common_ptr info) {
  auto* state = static_cast<ErrorState*>(info->client_data);
  state->manager.format_message(info, state->message);
  std::longjmp(state->jump, 1);
}

// libjpeg carries on after damage, with grey or garbage for pixels. Only
// warnings about stray bytes and header fields leave the picture intact.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  if (code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM &&
      code != JWRN_JFIF_MAJOR) {
    fail(info);
  }
}

[[noreturn]] void fail_with(j_common_ptr info, const char* message) {
  auto* state = static_cast<ErrorState*>(info->client_data);
  std::snprintf(state->message, sizeof state->message, "%s", message);
  std::longjmp(state->jump, 1);
}

void on_progress(j_common_ptr common) {
  const auto* info = reinterpret_cast<j_decompress_ptr>(common);
  const int64_t scans = info->input_scan_number;
  const int64_t pixels = int64_t{info->image_width} * info->image_height;
  if (scans > kMaxScans) fail_with(common, "too many scans");
  if (scans > kUsualScans && scans * pixels > kMaxScanPixels) {
    fail_with(common, "too many scans for its size");
  }
}

// libjpeg reports errors by a call that must not return. Each step runs under
// its own setjmp and holds nothing that has a destructor, so that the jump
// skips none; memory of libjpeg is freed with the object.
class JpegDecoder {
 public:
  explicit JpegDecoder(const std::string& name) : name_(name) {
    info_.err = jpeg_std_error(&error_.manager);
    info_.client_data = &error_;
    error_.manager.error_exit = fail;
    error_.manager.emit_message = on_message;
    progress_.progress_monitor = on_progress;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  jpeg_decompress_struct& info() { return info_; }

  void read_header(std::span<const uint8_t> bytes) {
    guarded([&] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_;
      jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
      jpeg_mem_src(&info_, bytes.data(),
                   static_cast<unsigned long>(bytes.size()));
      jpeg_read_header(&info_, TRUE);
    });
  }

  template <typename Step>
  void guarded(const Step& step) {
    if (setjmp(error_.jump) != 0) {
      throw DataError(name_ + ": truncated or corrupt JPEG: " + error_.message);
    }
    step();
  }

 private:
  const std::string& name_;
  jpeg_decompress_struct info_{};
  ErrorState error_;
  jpeg_progress_mgr progress_{};
};

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

int orientation_of(const jpeg_decompress_struct& info) {
  for (const auto* marker = info.marker_list; marker != nullptr;
       marker = marker->next) {
    const std::span<const uint8_t> body(marker->data, marker->data_length);
    const int orientation = exif_orientation(body);
    if (orientation != 1) return orientation;
  }
  return 1;
}

}  // namespace

Image decode_jpeg(std::span<const uint8_t> bytes, const std::string& name,
                  const DecodeLimits& limits) {
  JpegDecoder decoder(name);
  decoder.read_header(bytes);
  jpeg_decompress_struct& info = decoder.info();
  check_size(info.image_width, info.image_height, name, limits);
  info.out_color_space = output_space(info, name);
  const bool cmyk = info.out_color_space == JCS_CMYK;
  const int channels = info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  const int orientation = orientation_of(info);

  decoder.guarded([&] { jpeg_start_decompress(&info); });
  Image image(static_cast<int>(info.output_width),
              static_cast<int>(info.output_height), channels);
  std::vector<uint8_t> line(cmyk ? size_t{info.output_width} * 4 : 0);
  decoder.guarded([&] {
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
  return apply_orientation(std::move(image), orientation);
}

}  // namespace kith::detail
