#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it
#include <span>
#include <string>

#include <jpeglib.h>

#include "kith/core/error.h"
#include "kith/image/decode.h"

namespace kith::detail {

/// libjpeg on a file that need not be honest: damage is an error and not a
/// guess, and time is limited. For decode_jpeg() and JpegFile alone.
///
/// libjpeg reports errors by a call that must not return. Each step runs under
/// its own setjmp and holds nothing that has a destructor, so that the jump
/// skips none; memory of libjpeg is freed with the object.
class JpegReader {
 public:
  /// `name` stands for the file in messages and must outlive the reader.
  JpegReader(std::span<const uint8_t> bytes, const std::string& name,
             const DecodeLimits& limits);
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// Reads as far as the first scan, and checks the size.
  void read_header();

  /// The header's fields from then on.
  jpeg_decompress_struct& info() { return info_; }

  /// Of the EXIF data so far: markers may also follow later.
  int orientation() const { return state_.orientation; }

  template <typename Step>
  void guarded(const Step& step) {
    if (setjmp(state_.jump) != 0) throw_failure();
    step();
  }

 private:
  /// What functions that libjpeg calls know.
  struct State {
    jpeg_error_mgr manager{};
    std::jmp_buf jump{};
    char message[JMSG_LENGTH_MAX] = {};
    int orientation = 1;
    DecodeClock clock;
  };

  [[noreturn]] void throw_failure();

  // What libjpeg calls.
  [[noreturn]] static void fail(j_common_ptr info);
  static void on_message(j_common_ptr info, int level);
  static boolean on_app1(j_decompress_ptr info);
  static void on_progress(j_common_ptr info);

  static State& state_of(j_common_ptr info);
  [[noreturn]] static void fail_with(j_common_ptr info, const char* message);
  static void check_time(j_common_ptr info);

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  const DecodeLimits& limits_;
  jpeg_decompress_struct info_{};
  State state_;
  jpeg_progress_mgr progress_{};
};

}  // namespace kith::detail
