#include "kith/data/find_colour.h"

#include <algorithm>

namespace kith {
namespace {

bool has_colour(const Image& image) {
  if (image.channels == 1) return false;
  // What rounding in a JPEG makes of grey is not colour.
  constexpr int kNearlyGrey = 8;
  for (size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
    const auto [low, high] = std::minmax(
        {image.pixels[i], image.pixels[i + 1], image.pixels[i + 2]});
    if (high - low > kNearlyGrey) return true;
  }
  return false;
}

}  // namespace

std::string find_colour(const DataSet& data) {
  // Not of the test split, which decides nothing, and without the copies that
  // are turned: classes that are held out have none.
  std::vector<int64_t> upright;
  const std::vector<Item>& items = data.list().items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].quarter_turns == 0 && items[i].split != Split::kTest) {
      upright.push_back(static_cast<int64_t>(i));
    }
  }
  const auto count = static_cast<int64_t>(upright.size());
  const int64_t samples = std::min(count, kColourSamples);
  for (int64_t s = 0; s < samples; ++s) {
    const auto place = static_cast<size_t>(s * count / samples);
    if (has_colour(data.load(upright[place]))) return "rgb";
  }
  return "grey";
}

}  // namespace kith
