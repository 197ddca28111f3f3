#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "kith/image/decode.h"
#include "tests/support/expect_error.h"
#include "tests/support/raw_images.h"

namespace kith {
namespace {

using std::string_view_literals::operator""sv;

/// Bits from the highest on; the last byte is filled up with ones.
class Bits {
 public:
  void put(uint32_t value, int width) {
    while (width-- > 0) {
      last_ = last_ * 2 + (value >> width & 1);
      if (++used_ == 8) flush();
    }
  }

  std::string finish() {
    while (used_ != 0) put(1, 1);
    return bytes_;
  }

 private:
  void flush() {
    bytes_ += static_cast<char>(last_);
    if (last_ == 0xff) bytes_ += '\0';
    last_ = 0;
    used_ = 0;
  }

  std::string bytes_;
  unsigned last_ = 0;
  int used_ = 0;
};

std::string segment(char marker, std::string_view body) {
  std::string bytes = {'\xff', marker};
  put_big_endian(bytes, static_cast<uint32_t>(body.size() + 2), 2);
  return bytes + std::string(body);
}

constexpr int kStretch = 1 << 14;

/// Of the coefficients `k`, first or, with `refines`, one bit more of them.
std::string scan_header(int k, bool refines) {
  return segment('\xda', std::string("\1\1\0"sv) + static_cast<char>(k) +
                             static_cast<char>(k) +
                             (refines  ? '\x10'
                              : k == 0 ? '\0'
                                       : '\1'));
}

/// A grey square, valid, of few bytes: each of the `scans` after the first
/// says only that whole stretches of blocks are empty. `side` is a multiple of
/// 1024.
std::string flat_progressive_jpeg(int side, int scans) {
  std::string frame = "\x08";
  put_big_endian(frame, static_cast<uint32_t>(side), 2);
  put_big_endian(frame, static_cast<uint32_t>(side), 2);
  std::string bytes = "\xff\xd8" +
                      segment('\xdb', '\0' + std::string(64, '\1')) +
                      segment('\xc2', frame + "\1\1\x11" + '\0');
  // One code each, "0": no difference, and 2^14 empty blocks and more.
  const std::string one_code = '\1' + std::string(15, '\0');
  bytes += segment('\xc4', '\0' + one_code + '\0');
  bytes += segment('\xc4', '\x10' + one_code + '\xe0');

  const int blocks = (side / 8) * (side / 8);
  Bits dc;
  for (int i = 0; i < blocks; ++i) dc.put(0, 1);
  Bits ac;
  for (int i = 0; i < blocks; i += kStretch) {
    ac.put(0, 1);
    ac.put(0, 14);  // no more than these
  }
  bytes += scan_header(0, false) + dc.finish();
  const std::string empty = ac.finish();
  for (int i = 0; i < scans; ++i) {
    bytes += scan_header(1 + i % 63, i >= 63) + empty;
  }
  return bytes + "\xff\xd9";
}

Image decode(const std::string& bytes) {
  return decode_image(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x.jpg");
}

TEST(JpegScans, AreBoundedByTheirWork) {
  EXPECT_EQ(decode(flat_progressive_jpeg(1024, 120)).width, 1024);
  const std::string many = flat_progressive_jpeg(8192, 120);
  EXPECT_LT(many.size(), size_t{1} << 18);
  // Fewer do for a picture of this size: they are refused before the end.
  expect_error<DataError>([&] { decode(many); }, "x.jpg",
                          "too many scans for its size");
}

}  // namespace
}  // namespace kith
