#include "kith/image/decode.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string_view>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/number_text.h"
#include "kith/image/image_format.h"

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
  if (bytes.empty()) return "the file is empty";
  if (has_magic(bytes, 4, "ftyp")) return "this is a HEIF or AVIF";
  if (has_magic(bytes, 0, "<svg") || has_magic(bytes, 0, "<?xml")) {
    return "this is text, perhaps an SVG";
  }
  return "this is none of them";
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

Image decode_image(const std::string& path, const DecodeLimits& limits) {
  return decode_stored(path, limits).upright();
}

Image decode_image(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeLimits& limits) {
  return decode_stored(bytes, name, limits).upright();
}

std::string read_image_file(const std::string& path) {
  return read_file(path, kMaxImageFileBytes);
}

StoredImage decode_stored(const std::string& path, const DecodeLimits& limits) {
  const std::string contents = read_image_file(path);
  return decode_stored(
      {reinterpret_cast<const uint8_t*>(contents.data()), contents.size()},
      path, limits);
}

StoredImage decode_stored(std::span<const uint8_t> bytes,
                          const std::string& name, const DecodeLimits& limits) {
  const std::string_view format = image_format(bytes).name;
  if (format == "JPEG") return detail::decode_jpeg(bytes, name, limits);
  if (format == "PNG") return detail::decode_png(bytes, name, limits);
  if (format == "GIF") return detail::decode_gif(bytes, name, limits);
  if (format == "WebP") return detail::decode_webp(bytes, name, limits);
  if (format == "TIFF") return detail::decode_tiff(bytes, name, limits);
  if (format == "BMP") return detail::decode_bmp(bytes, name, limits);
  throw DataError(name + ": unknown image format: " + image_formats_text() +
                  " are supported, " + guess_format(bytes));
}

std::vector<std::string> image_formats() {
  std::vector<std::string> formats = {"JPEG", "PNG", "BMP", "GIF"};
  if (detail::has_webp()) formats.emplace_back("WebP");
  if (detail::has_tiff()) formats.emplace_back("TIFF");
  return formats;
}

ImageFormat image_format(std::span<const uint8_t> bytes) {
  using std::string_view_literals::operator""sv;
  struct Beginning {
    ImageFormat format;
    std::string_view magic;
  };
  static constexpr Beginning kBeginnings[] = {
      {{"JPEG", ".jpg"}, "\xff\xd8\xff"sv},
      {{"PNG", ".png"}, "\x89PNG\r\n\x1a\n"sv},
      {{"GIF", ".gif"}, "GIF87a"sv},
      {{"GIF", ".gif"}, "GIF89a"sv},
      {{"TIFF", ".tif"}, "II*\0"sv},
      {{"TIFF", ".tif"}, "MM\0*"sv},
      {{"TIFF", ".tif"}, "II+\0"sv},
      {{"TIFF", ".tif"}, "MM\0+"sv},
      {{"BMP", ".bmp"}, "BM"sv},
  };
  if (has_magic(bytes, 0, "RIFF") && has_magic(bytes, 8, "WEBP")) {
    return {"WebP", ".webp"};
  }
  for (const Beginning& each : kBeginnings) {
    if (has_magic(bytes, 0, each.magic)) return each.format;
  }
  return {};
}

std::string image_formats_text() {
  const std::vector<std::string> formats = image_formats();
  std::string text = formats.front();
  for (size_t i = 1; i < formats.size(); ++i) {
    text += (i + 1 < formats.size() ? ", " : " and ") + formats[i];
  }
  return text;
}

namespace detail {

DecodeClock::DecodeClock(const DecodeLimits& limits, uint64_t file_bytes)
    : begin_(thread_seconds()),
      limit_(limits.seconds),
      seconds_per_million_(limits.seconds_per_million) {
  add_pixels(file_bytes);
}

void DecodeClock::add_pixels(uint64_t pixels) {
  limit_ += seconds_per_million_ * 1e-6 * static_cast<double>(pixels);
}

bool DecodeClock::is_over() {
  constexpr unsigned kSteps = 16;
  if (asked_++ % kSteps == 0 && thread_seconds() - begin_ > limit_) {
    is_over_ = true;
  }
  return is_over_;
}

std::string DecodeClock::message() const {
  return "decoding took more than " + format_fixed(limit_, 1) +
         " s of processor time, the limit for a file of its size: it is "
         "damaged, or made to take long; save the picture again with another "
         "program";
}

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
