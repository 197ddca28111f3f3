// WebP by libwebp. Its work is linear in bytes and pixels, both of which are
// limited, so there is no clock: the library has no place to look at one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <webp/decode.h>
#include <webp/demux.h>

#include "kith/core/error.h"
#include "kith/image/composite.h"
#include "kith/image/decode.h"

namespace kith::detail {
namespace {

[[noreturn]] void fail_webp(const std::string& name, const std::string& why) {
  throw DataError(name + ": truncated or corrupt WebP: " + why);
}

/// The parts of a file, which the caller's bytes hold.
class WebpParts {
 public:
  WebpParts(std::span<const uint8_t> bytes, const std::string& name) {
    const WebPData data{bytes.data(), bytes.size()};
    parts_.reset(WebPDemux(&data));
    if (!parts_) fail_webp(name, "the file ends too early");
    if (WebPDemuxGetFrame(parts_.get(), 1, &frame_) == 0) {
      fail_webp(name, "it has no picture");
    }
  }
  ~WebpParts() { WebPDemuxReleaseIterator(&frame_); }
  WebpParts(const WebpParts&) = delete;
  WebpParts& operator=(const WebpParts&) = delete;

  int width() const { return number(WEBP_FF_CANVAS_WIDTH); }
  int height() const { return number(WEBP_FF_CANVAS_HEIGHT); }
  const WebPIterator& frame() const { return frame_; }

 private:
  struct Deleter {
    void operator()(WebPDemuxer* parts) const { WebPDemuxDelete(parts); }
  };

  int number(WebPFormatFeature feature) const {
    return static_cast<int>(WebPDemuxGetI(parts_.get(), feature));
  }

  std::unique_ptr<WebPDemuxer, Deleter> parts_;
  WebPIterator frame_{};
};

}  // namespace

bool has_webp() { return true; }

Image decode_webp(std::span<const uint8_t> bytes, const std::string& name,
                  const DecodeLimits& limits) {
  const WebpParts parts(bytes, name);
  const WebPIterator& frame = parts.frame();
  const auto positive = [](int value) {
    return static_cast<uint64_t>(std::max(value, 0));
  };
  check_size(positive(parts.width()), positive(parts.height()), name, limits);
  // Of a single picture the frame is the canvas; an animation's first one may
  // be smaller, and what it leaves free is white.
  if (frame.width < 1 || frame.height < 1 || frame.x_offset < 0 ||
      frame.y_offset < 0 || frame.width > parts.width() - frame.x_offset ||
      frame.height > parts.height() - frame.y_offset) {
    fail_webp(name, "a picture that leaves its canvas");
  }
  const int channels = frame.has_alpha ? 4 : 3;
  Image picture(frame.width, frame.height, channels);
  const size_t size = picture.pixels.size();
  const int stride = frame.width * channels;
  const WebPData& data = frame.fragment;
  const auto decode = frame.has_alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(data.bytes, data.size, picture.pixels.data(), size, stride) ==
      nullptr) {
    fail_webp(name, "its pixels cannot be read");
  }
  if (frame.has_alpha) {
    picture = composite_on_white(picture.pixels, frame.width, frame.height, 4);
  }
  if (frame.width == parts.width() && frame.height == parts.height()) {
    return picture;
  }
  Image canvas(parts.width(), parts.height(), 3);
  std::fill(canvas.pixels.begin(), canvas.pixels.end(), uint8_t{255});
  for (int y = 0; y < picture.height; ++y) {
    std::copy_n(picture.row(y), size_t{3} * static_cast<size_t>(picture.width),
                canvas.row(frame.y_offset + y) + 3 * frame.x_offset);
  }
  return canvas;
}

}  // namespace kith::detail
