#include "kith/image/tone.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kith/core/error.h"

namespace kith {
namespace {

using Levels = std::array<int64_t, 256>;
using LevelTable = std::array<uint8_t, 256>;

LevelTable same_levels() {
  LevelTable table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i);
  return table;
}

/// How often each level occurs in a channel.
Levels count_levels(const Image& image, size_t channel) {
  Levels counts{};
  const auto step = static_cast<size_t>(image.channels);
  for (size_t i = channel; i < image.pixels.size(); i += step) {
    ++counts[image.pixels[i]];
  }
  return counts;
}

/// Changes each channel by the table that `make` has for its levels.
template <class MakeTable>
void change_channels(Image& image, const MakeTable& make) {
  const auto step = static_cast<size_t>(image.channels);
  for (size_t channel = 0; channel < step; ++channel) {
    const LevelTable table = make(count_levels(image, channel));
    for (size_t i = channel; i < image.pixels.size(); i += step) {
      image.pixels[i] = table[image.pixels[i]];
    }
  }
}

void change_levels(Image& image, const LevelTable& table) {
  for (uint8_t& pixel : image.pixels) pixel = table[pixel];
}

LevelTable stretching(const Levels& counts) {
  LevelTable table = same_levels();
  size_t low = 0;
  size_t high = 255;
  while (low < 255 && counts[low] == 0) ++low;
  while (high > 0 && counts[high] == 0) --high;
  if (high <= low) return table;
  const double scale = 255.0 / static_cast<double>(high - low);
  const double offset = -static_cast<double>(low) * scale;
  for (size_t i = 0; i < table.size(); ++i) {
    // Cut off, not rounded.
    const int level = static_cast<int>(static_cast<double>(i) * scale + offset);
    table[i] = static_cast<uint8_t>(std::clamp(level, 0, 255));
  }
  return table;
}

LevelTable evening(const Levels& counts) {
  LevelTable table = same_levels();
  int64_t all = 0;
  int64_t last = 0;  // of the highest level that occurs
  for (const int64_t count : counts) {
    all += count;
    if (count > 0) last = count;
  }
  const int64_t step = (all - last) / 255;
  if (step == 0) return table;
  int64_t below = step / 2;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<uint8_t>(std::min<int64_t>(below / step, 255));
    below += counts[i];
  }
  return table;
}

}  // namespace

void auto_contrast(Image& image) { change_channels(image, stretching); }

void equalize(Image& image) { change_channels(image, evening); }

void posterize(Image& image, int bits) {
  KITH_ASSERT(bits >= 0 && bits <= 8);
  const int mask = 256 - (1 << (8 - bits));
  LevelTable table{};
  for (int i = 0; i < 256; ++i) {
    table[static_cast<size_t>(i)] = static_cast<uint8_t>(i & mask);
  }
  change_levels(image, table);
}

void solarize(Image& image, int threshold) {
  LevelTable table = same_levels();
  for (int i = std::max(threshold, 0); i < 256; ++i) {
    table[static_cast<size_t>(i)] = static_cast<uint8_t>(255 - i);
  }
  change_levels(image, table);
}

}  // namespace kith
