#include "tests/support/raw_images.h"

#include <algorithm>

namespace kith {
namespace {

using std::string_view_literals::operator""sv;

uint32_t crc32(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
    }
  }
  return ~crc;
}

uint32_t adler32(std::string_view bytes) {
  uint32_t a = 1;
  uint32_t b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return (b << 16) | a;
}

std::string chunk(std::string_view type, std::string_view body) {
  std::string bytes;
  put_big_endian(bytes, static_cast<uint32_t>(body.size()), 4);
  std::string checked(type);
  checked += body;
  bytes += checked;
  put_big_endian(bytes, crc32(checked), 4);
  return bytes;
}

std::string segment(char marker, std::string_view body) {
  std::string bytes = {'\xff', marker};
  put_big_endian(bytes, static_cast<uint32_t>(body.size() + 2), 2);
  return bytes.append(body);
}

class BitWriter {
 public:
  void put(uint32_t value, int count) {
    for (int i = count - 1; i >= 0; --i) bit((value >> i) & 1);
  }

  // DC difference: a 4-bit code for its number of bits, then the bits.
  void put_dc(int value) {
    int size = 0;
    while ((value < 0 ? -value : value) >> size != 0) ++size;
    put(static_cast<uint32_t>(size), 4);
    const int bits = value < 0 ? value + (1 << size) - 1 : value;
    put(static_cast<uint32_t>(bits), size);
  }

  std::string finish() {
    while (used_ != 0) bit(1);
    return bytes_;
  }

 private:
  void bit(uint32_t value) {
    current_ = (current_ << 1) | value;
    if (++used_ < 8) return;
    bytes_ += static_cast<char>(current_ & 255);
    if ((current_ & 255) == 255) bytes_ += '\0';
    used_ = 0;
  }

  std::string bytes_;
  uint32_t current_ = 0;
  int used_ = 0;
};

// All quantisers are 8, so that a DC coefficient is the value minus 128. DC
// codes: the numbers 0..11 in 4 bits. AC codes: '0' is the end of the block.
std::string tables() {
  std::string dc("\x00\0\0\0\x0c\0\0\0\0\0\0\0\0\0\0\0\0"sv);
  for (char i = 0; i < 12; ++i) dc += i;
  const std::string ac("\x10\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv);
  return segment('\xdb', std::string(1, '\0') + std::string(64, '\x08')) +
         segment('\xc4', dc) + segment('\xc4', ac);
}

std::string frame(char marker, int width, int height, size_t components) {
  std::string body = "\x08";
  put_big_endian(body, static_cast<uint32_t>(height), 2);
  put_big_endian(body, static_cast<uint32_t>(width), 2);
  body += static_cast<char>(components);
  for (size_t i = 1; i <= components; ++i) {
    body += {static_cast<char>(i), '\x11', '\0'};
  }
  return segment(marker, body);
}

std::string scan_header(size_t components, int first, int last, int high,
                        int low) {
  std::string body(1, static_cast<char>(components));
  for (size_t i = 1; i <= components; ++i) {
    body += {static_cast<char>(i), '\0'};
  }
  body += {static_cast<char>(first), static_cast<char>(last),
           static_cast<char>(high * 16 + low)};
  return segment('\xda', body);
}

}  // namespace

void put_big_endian(std::string& bytes, uint32_t value, int width) {
  for (int i = width - 1; i >= 0; --i) {
    bytes += static_cast<char>((value >> (8 * i)) & 255);
  }
}

std::string stored_zlib(std::string_view data) {
  std::string bytes = "\x78\x01";
  std::string_view rest = data;
  do {
    const std::string_view part = rest.substr(0, 65535);
    rest.remove_prefix(part.size());
    const auto length = static_cast<uint16_t>(part.size());
    bytes += {static_cast<char>(rest.empty() ? 1 : 0),
              static_cast<char>(length & 255), static_cast<char>(length >> 8),
              static_cast<char>(~length & 255),
              static_cast<char>((~length >> 8) & 255)};
    bytes += part;
  } while (!rest.empty());
  put_big_endian(bytes, adler32(data), 4);
  return bytes;
}

std::string raw_png(const RawPng& png) {
  std::string header;
  put_big_endian(header, png.width, 4);
  put_big_endian(header, png.height, 4);
  header += {png.depth, png.color_type, '\0', '\0', png.interlace};
  std::string bytes = "\x89PNG\r\n\x1a\n" + chunk("IHDR", header);
  if (!png.palette.empty()) bytes += chunk("PLTE", png.palette);
  if (!png.alpha.empty()) bytes += chunk("tRNS", png.alpha);
  return bytes + chunk("IDAT", stored_zlib(png.rows)) + chunk("IEND", "");
}

std::string repair_png(std::string bytes) {
  size_t at = 8;
  while (at + 12 <= bytes.size()) {
    uint32_t length = 0;
    for (size_t i = 0; i < 4; ++i) {
      length = (length << 8) | static_cast<uint8_t>(bytes[at + i]);
    }
    if (length > bytes.size() - at - 12) break;
    const uint32_t crc =
        crc32(std::string_view(bytes).substr(at + 4, length + 4));
    std::string check;
    put_big_endian(check, crc, 4);
    std::copy(check.begin(), check.end(),
              bytes.begin() + static_cast<int64_t>(at + 8 + length));
    at += 12 + size_t{length};
  }
  return bytes;
}

std::string flat_jpeg(const FlatJpeg& jpeg) {
  const size_t count = jpeg.components.size();
  std::string bytes = "\xff\xd8";
  if (jpeg.adobe_transform >= 0) {
    bytes += segment('\xee', std::string("Adobe\0\x64\0\0\0\0"sv) +
                                 static_cast<char>(jpeg.adobe_transform));
  }
  bytes += tables() + frame('\xc0', jpeg.width, jpeg.height, count) +
           scan_header(count, 0, 63, 0, 0);
  BitWriter bits;
  for (const char value : jpeg.components) {
    bits.put_dc(static_cast<uint8_t>(value) - 128);
    bits.put(0, 1);
  }
  return bytes + bits.finish() + "\xff\xd9";
}

std::string many_scans_jpeg(int coefficients) {
  std::string bytes = "\xff\xd8" + tables() + frame('\xc2', 8, 8, 1) +
                      scan_header(1, 0, 0, 0, 0);
  BitWriter bits;
  bits.put_dc(0);
  bytes += bits.finish();
  for (int k = 1; k <= coefficients; ++k) {
    for (int low = 9; low >= 0; --low) {
      // One end-of-block code and padding.
      bytes += scan_header(1, k, k, low == 9 ? 0 : low + 1, low) + '\x7f';
    }
  }
  return bytes + "\xff\xd9";
}

std::string with_orientation(std::string_view jpeg, int orientation) {
  std::string body("Exif\0\0MM\0\x2a\0\0\0\x08\0\x01"sv);
  put_big_endian(body, 0x01120003, 4);
  put_big_endian(body, 1, 4);
  put_big_endian(body, static_cast<uint32_t>(orientation) << 16, 4);
  put_big_endian(body, 0, 4);
  return std::string(jpeg.substr(0, 2)) + segment('\xe1', body) +
         std::string(jpeg.substr(2));
}

}  // namespace kith
