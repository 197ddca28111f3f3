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
#include "kith/image/decode.h"
#include "kith/image/orientation.h"

namespace kith::detail {
namespace {

// A small progressive file can ask for an absurd number of passes over a large
// picture. Real encoders write about ten.
constexpr int kMaxScans = 500;
/// With more than kUsualScans, also the pixels of all passes are bounded: the
/// work grows with both. These take about a second.
constexpr int kUsualScans = 20;
constexpr int64_t kMaxScanPixels = 2'000'000'000;

/// What functions that libjpeg calls know.
struct State {
  jpeg_error_mgr manager{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = {};
  int orientation = 1;
  DecodeClock clock;
};

[[noreturn]] void fail(j_common_ptr info) {
  auto* state = static_cast<State*>(info->client_data);
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
  auto* state = static_cast<State*>(info->client_data);
  std::snprintf(state->message, sizeof state->message, "%s", message);
  std::longjmp(state->jump, 1);
}

void check_time(j_common_ptr info) {
  auto* state = static_cast<State*>(info->client_data);
  if (state->clock.is_over()) std::longjmp(state->jump, 1);
}

// Looks at each APP1 segment where it lies. libjpeg's own way is to keep all of
// them in a list, and to walk to its end for each.
boolean on_app1(j_decompress_ptr info) {
  const auto common = reinterpret_cast<j_common_ptr>(info);
  auto* state = static_cast<State*>(info->client_data);
  check_time(common);
  jpeg_source_mgr* source = info->src;
  // The whole file is in memory: what is not there never comes.
  constexpr size_t kLengthBytes = 2;
  if (source->bytes_in_buffer < kLengthBytes) {
    fail_with(common, "it ends within a marker");
  }
  const JOCTET* segment = source->next_input_byte;
  const size_t length = size_t{segment[0]} << 8 | segment[1];
  if (length < kLengthBytes || length > source->bytes_in_buffer) {
    fail_with(common, "a marker is longer than what is left, or too short");
  }
  if (state->orientation == 1) {
    state->orientation =
        exif_orientation({segment + kLengthBytes, length - kLengthBytes});
  }
  source->next_input_byte += length;
  source->bytes_in_buffer -= length;
  return TRUE;
}

void on_progress(j_common_ptr common) {
  check_time(common);
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
  JpegDecoder(const std::string& name, DecodeClock clock)
      : name_(name), state_{.clock = clock} {
    info_.err = jpeg_std_error(&state_.manager);
    info_.client_data = &state_;
    state_.manager.error_exit = fail;
    state_.manager.emit_message = on_message;
    progress_.progress_monitor = on_progress;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  jpeg_decompress_struct& info() { return info_; }
  State& state() { return state_; }

  void read_header(std::span<const uint8_t> bytes) {
    guarded([&] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_;
      jpeg_set_marker_processor(&info_, JPEG_APP0 + 1, on_app1);
      jpeg_mem_src(&info_, bytes.data(),
                   static_cast<unsigned long>(bytes.size()));
      jpeg_read_header(&info_, TRUE);
    });
  }

  template <typename Step>
  void guarded(const Step& step) {
    if (setjmp(state_.jump) != 0) {
      if (state_.clock.is_over()) {
        throw DataError(name_ + ": " + state_.clock.message());
      }
      throw DataError(name_ + ": truncated or corrupt JPEG: " + state_.message);
    }
    step();
  }

 private:
  const std::string& name_;
  jpeg_decompress_struct info_{};
  State state_;
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

}  // namespace

StoredImage decode_jpeg(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeLimits& limits) {
  JpegDecoder decoder(name, DecodeClock(limits, bytes.size()));
  decoder.read_header(bytes);
  jpeg_decompress_struct& info = decoder.info();
  check_size(info.image_width, info.image_height, name, limits);
  decoder.state().clock.add_pixels(uint64_t{info.image_width} *
                                   info.image_height);
  info.out_color_space = output_space(info, name);
  const bool cmyk = info.out_color_space == JCS_CMYK;
  const int channels = info.out_color_space == JCS_GRAYSCALE ? 1 : 3;

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
  return {std::move(image), decoder.state().orientation};
}

}  // namespace kith::detail
