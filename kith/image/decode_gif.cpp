// GIF by hand: only the first picture is wanted, of a format that is closed
// since 1989. giflib would be one more library, has had its share of errors
// with hostile files, and its usual call reads all pictures into memory.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/error.h"
#include "kith/image/decode.h"

namespace kith::detail {
namespace {

using GifColours = std::vector<std::array<uint8_t, 3>>;

class GifReader {
 public:
  GifReader(std::span<const uint8_t> bytes, const std::string& name,
            const DecodeLimits& limits)
      : bytes_(bytes),
        name_(name),
        limits_(limits),
        clock_(limits, bytes.size()) {}

  Image read() {
    at_ = 6;  // behind GIF87a or GIF89a
    const uint32_t width = next16();
    const uint32_t height = next16();
    const uint32_t flags = next8();
    next16();  // background and aspect, which nobody obeys
    GifColours colours;
    if (flags & 0x80) colours = read_colours(flags);
    while (true) {
      check_time();
      const uint32_t block = next8();
      if (block == 0x21) {
        read_extension();
      } else if (block == 0x2c) {
        return read_picture(width, height, std::move(colours));
      } else {
        fail(block == 0x3b ? "it has no picture" : "an unknown block");
      }
    }
  }

 private:
  struct Frame {
    uint32_t left, top, width, height;
    bool interlaced;
  };

  [[noreturn]] void fail(const std::string& why) const {
    throw DataError(name_ + ": truncated or corrupt GIF: " + why);
  }

  void check_time() {
    if (clock_.is_over()) throw DataError(name_ + ": " + clock_.message());
  }

  uint32_t next8() {
    if (at_ >= bytes_.size()) fail("the file ends too early");
    return bytes_[at_++];
  }

  uint32_t next16() {
    const uint32_t low = next8();
    return low | next8() << 8;
  }

  GifColours read_colours(uint32_t flags) {
    GifColours colours(size_t{2} << (flags & 7));
    for (auto& colour : colours) {
      for (uint8_t& value : colour) value = static_cast<uint8_t>(next8());
    }
    return colours;
  }

  void read_extension() {
    const bool is_control = next8() == 0xf9;
    for (bool first = true;; first = false) {
      check_time();
      const uint32_t size = next8();
      if (size == 0) return;
      if (bytes_.size() - at_ < size) fail("the file ends too early");
      if (is_control && first && size >= 4) {
        const bool has_transparent = bytes_[at_] & 1;
        transparent_ = has_transparent ? bytes_[at_ + 3] : -1;
      }
      at_ += size;
    }
  }

  Image read_picture(uint32_t width, uint32_t height, GifColours colours) {
    Frame frame{};
    frame.left = next16();
    frame.top = next16();
    frame.width = next16();
    frame.height = next16();
    const uint32_t flags = next8();
    frame.interlaced = flags & 0x40;
    if (flags & 0x80) colours = read_colours(flags);
    if (colours.empty()) fail("it has no colours");
    colours.resize(256);  // beyond a short table: black
    // Some programs write a screen that is smaller than the picture.
    width = std::max(width, frame.left + frame.width);
    height = std::max(height, frame.top + frame.height);
    check_size(frame.width, frame.height, name_, limits_);
    check_size(width, height, name_, limits_);
    // A code is of 12 bits at most and stands for at most 4096 pixels: a header
    // that promises more is refused before the memory is taken.
    constexpr uint64_t kMostPixelsOfByte = 4096;
    if (uint64_t{width} * height / kMostPixelsOfByte > bytes_.size()) {
      fail(std::to_string(bytes_.size()) +
           " bytes cannot hold a picture of this size");
    }
    clock_.add_pixels(uint64_t{width} * height);
    const std::vector<uint8_t> indices =
        read_indices(size_t{frame.width} * frame.height);
    Image image(static_cast<int>(width), static_cast<int>(height), 3);
    // Transparency is composited on white, and so is what no pixel covers.
    std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{255});
    for (uint32_t row = 0; row < frame.height; ++row) {
      const uint32_t y = frame.interlaced ? place_of(row, frame.height) : row;
      const uint8_t* from = indices.data() + size_t{row} * frame.width;
      uint8_t* to =
          image.row(static_cast<int>(frame.top + y)) + size_t{3} * frame.left;
      for (uint32_t x = 0; x < frame.width; ++x, to += 3) {
        if (from[x] == transparent_) continue;
        std::copy_n(colours[from[x]].begin(), 3, to);
      }
    }
    return image;
  }

  /// Where the row of this number lies in an interlaced picture: every eighth
  /// from 0, every eighth from 4, every fourth from 2, every second from 1.
  static uint32_t place_of(uint32_t row, uint32_t height) {
    constexpr uint32_t kPasses[4][2] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    for (const auto& [first, step] : kPasses) {
      const uint32_t rows =
          height > first ? (height - first + step - 1) / step : 0;
      if (row < rows) return first + row * step;
      row -= rows;
    }
    return 0;  // not reached: the passes cover all rows
  }

  /// LZW, in blocks of up to 255 bytes.
  std::vector<uint8_t> read_indices(size_t count) {
    constexpr uint32_t kMaxCodes = 4096;
    const uint32_t bits = next8();
    if (bits < 1 || bits > 8)
      fail("codes of " + std::to_string(bits) + " bits");
    const uint32_t clear = 1u << bits;
    // A code is its last pixel behind the pixels of another code.
    std::array<uint16_t, kMaxCodes> before{};
    std::array<uint8_t, kMaxCodes> last{};
    std::array<uint16_t, kMaxCodes> length{};
    for (uint32_t i = 0; i < clear; ++i) {
      last[i] = static_cast<uint8_t>(i);
      length[i] = 1;
    }
    std::vector<uint8_t> indices(count);
    size_t done = 0;
    uint32_t codes = clear + 2;
    uint32_t width = bits + 1;
    uint32_t previous = kMaxCodes;  // none
    uint32_t buffer = 0;
    uint32_t held = 0;
    uint32_t in_block = 0;
    while (done < count) {
      while (held < width) {
        if (in_block == 0) {
          check_time();
          in_block = next8();
          if (in_block == 0) fail("its data end too early");
        }
        buffer |= next8() << held;
        held += 8;
        --in_block;
      }
      const uint32_t code = buffer & ((1u << width) - 1);
      buffer >>= width;
      held -= width;
      if (code == clear) {
        codes = clear + 2;
        width = bits + 1;
        previous = kMaxCodes;
        continue;
      }
      if (code == clear + 1) fail("its data end too early");
      const bool has_previous = previous != kMaxCodes;
      // The code that is about to be made may be used at once.
      const bool is_new = code == codes && has_previous && codes < kMaxCodes;
      if (!is_new && (code >= codes || length[code] == 0)) {
        fail("a code that was not made");
      }
      if (has_previous && codes < kMaxCodes) {
        uint32_t first = is_new ? previous : code;
        while (length[first] > 1) first = before[first];
        before[codes] = static_cast<uint16_t>(previous);
        last[codes] = last[first];
        length[codes] = static_cast<uint16_t>(length[previous] + 1);
        if (++codes == 1u << width && width < 12) ++width;
      }
      // From the last pixel to the first; what is too much is left out.
      const size_t size = length[code];
      uint32_t from = code;
      for (size_t i = size; i-- > 0; from = before[from]) {
        if (done + i < count) indices[done + i] = last[from];
      }
      done += size;
      previous = code;
    }
    // The rest, mostly a code that says it ends: whole, or the file was cut.
    for (; in_block > 0 || (in_block = next8()) > 0; --in_block) next8();
    return indices;
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  const DecodeLimits& limits_;
  DecodeClock clock_;
  size_t at_ = 0;
  int transparent_ = -1;
};

}  // namespace

Image decode_gif(std::span<const uint8_t> bytes, const std::string& name,
                 const DecodeLimits& limits) {
  return GifReader(bytes, name, limits).read();
}

}  // namespace kith::detail
