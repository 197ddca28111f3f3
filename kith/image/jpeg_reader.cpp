#include "kith/image/jpeg_reader.h"

#include <jerror.h>

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

}  // namespace

JpegReader::State& JpegReader::state_of(j_common_ptr info) {
  return *static_cast<State*>(info->client_data);
}

void JpegReader::fail(j_common_ptr info) {
  State& state = state_of(info);
  state.manager.format_message(info, state.message);
  std::longjmp(state.jump, 1);
}

// libjpeg carries on after damage, with grey or garbage for pixels. Only
// warnings about stray bytes and header fields leave the picture intact.
void JpegReader::on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  if (code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM &&
      code != JWRN_JFIF_MAJOR) {
    fail(info);
  }
}

void JpegReader::fail_with(j_common_ptr info, const char* message) {
  State& state = state_of(info);
  std::snprintf(state.message, sizeof state.message, "%s", message);
  std::longjmp(state.jump, 1);
}

void JpegReader::check_time(j_common_ptr info) {
  State& state = state_of(info);
  if (state.clock.is_over()) std::longjmp(state.jump, 1);
}

// Looks at each APP1 segment where it lies. libjpeg's own way is to keep all of
// them in a list, and to walk to its end for each.
boolean JpegReader::on_app1(j_decompress_ptr info) {
  const auto common = reinterpret_cast<j_common_ptr>(info);
  State& state = state_of(common);
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
  if (state.orientation == 1) {
    state.orientation =
        exif_orientation({segment + kLengthBytes, length - kLengthBytes});
  }
  source->next_input_byte += length;
  source->bytes_in_buffer -= length;
  return TRUE;
}

void JpegReader::on_progress(j_common_ptr common) {
  check_time(common);
  const auto* info = reinterpret_cast<j_decompress_ptr>(common);
  const int64_t scans = info->input_scan_number;
  const int64_t pixels = int64_t{info->image_width} * info->image_height;
  if (scans > kMaxScans) fail_with(common, "too many scans");
  if (scans > kUsualScans && scans * pixels > kMaxScanPixels) {
    fail_with(common, "too many scans for its size");
  }
}

JpegReader::JpegReader(std::span<const uint8_t> bytes, const std::string& name,
                       const DecodeLimits& limits)
    : bytes_(bytes),
      name_(name),
      limits_(limits),
      state_{.clock = DecodeClock(limits, bytes.size())} {
  info_.err = jpeg_std_error(&state_.manager);
  info_.client_data = &state_;
  state_.manager.error_exit = fail;
  state_.manager.emit_message = on_message;
  progress_.progress_monitor = on_progress;
}

void JpegReader::read_header() {
  guarded([&] {
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_set_marker_processor(&info_, JPEG_APP0 + 1, on_app1);
    jpeg_mem_src(&info_, bytes_.data(),
                 static_cast<unsigned long>(bytes_.size()));
    jpeg_read_header(&info_, TRUE);
  });
  check_size(info_.image_width, info_.image_height, name_, limits_);
  state_.clock.add_pixels(uint64_t{info_.image_width} * info_.image_height);
}

void JpegReader::throw_failure() {
  if (state_.clock.is_over()) {
    throw DataError(name_ + ": " + state_.clock.message());
  }
  throw DataError(name_ + ": truncated or corrupt JPEG: " + state_.message);
}

}  // namespace kith::detail
