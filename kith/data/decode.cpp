#include "kith/data/decode.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "kith/core/error.h"
#include "kith/core/file.h"

namespace kith {
namespace {

constexpr uint64_t kMaxImageFileBytes = uint64_t{1} << 30;

bool has_magic(std::span<const uint8_t> bytes, size_t offset,
               std::string_view magic) {
  if (bytes.size() < offset + magic.size()) return false;
  return std::equal(
      magic.begin(), magic.end(), bytes.subspan(offset).begin(),
      [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// What an unsupported file seems to be, for the message.
std::string guess_format(std::span<const uint8_t> bytes) {
  using std::string_view_literals::operator""sv;
  if (bytes.empty()) return "the file is empty";
  if (has_magic(bytes, 0, "GIF8")) return "this is a GIF";
  if (has_magic(bytes, 0, "RIFF") && has_magic(bytes, 8, "WEBP")) {
    return "this is a WebP";
  }
  if (has_magic(bytes, 0, "II*\0"sv) || has_magic(bytes, 0, "MM\0*"sv)) {
    return "this is a TIFF";
  }
  if (has_magic(bytes, 4, "ftyp")) return "this is a HEIF or AVIF";
  if (has_magic(bytes, 0, "BM")) return "this is a BMP";
  return "this is neither";
}

}  // namespace

Image decode_image(const std::string& path, const DecodeLimits& limits) {
  const std::string contents = read_file(path, kMaxImageFileBytes);
  return decode_image(
      {reinterpret_cast<const uint8_t*>(contents.data()), contents.size()},
      path, limits);
}

Image decode_image(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeLimits& limits) {
  if (has_magic(bytes, 0, "\xff\xd8\xff")) {
    return detail::decode_jpeg(bytes, name, limits);
  }
  if (has_magic(bytes, 0, "\x89PNG\r\n\x1a\n")) {
    return detail::decode_png(bytes, name, limits);
  }
  throw DataError(name +
                  ": unknown image format: PNG and JPEG are supported, " +
                  guess_format(bytes));
}

namespace detail {

void check_size(uint64_t width, uint64_t height, const std::string& name,
                const DecodeLimits& limits) {
  const std::string size =
      std::to_string(width) + " x " + std::to_string(height) + " pixels";
  if (width == 0 || height == 0) {
    throw DataError(name + ": empty image of " + size);
  }
  const auto max_side = static_cast<uint64_t>(std::max(limits.max_side, 0));
  const auto max_pixels =
      static_cast<uint64_t>(std::max<int64_t>(limits.max_pixels, 0));
  if (width > max_side || height > max_side || width > max_pixels / height) {
    throw TooLargeError(name + ": image too large: " + size + ", at most " +
                        std::to_string(max_pixels) + " pixels and " +
                        std::to_string(max_side) + " per side are accepted");
  }
}

}  // namespace detail
}  // namespace kith
