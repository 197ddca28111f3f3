#include "kith/data/item_sources.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/quote.h"

namespace kith {

void ItemSources::add(const std::string& file, int64_t line) {
  if (files_.empty() || files_.back() != file) files_.push_back(file);
  places_.push_back(
      {static_cast<uint32_t>(files_.size() - 1), static_cast<uint32_t>(line)});
}

std::string ItemSources::where(size_t position) const {
  const Place& place = places_.at(position);
  return files_[place.file] + ":" + std::to_string(place.line);
}

void ItemSources::check_once(const ImageList& list) const {
  KITH_ASSERT(places_.size() == list.items.size());
  // Sorted by hash, equal paths are neighbours: less memory than a set of
  // paths, and faster than sorting the paths themselves.
  std::vector<std::pair<size_t, size_t>> hashes;
  hashes.reserve(list.items.size());
  for (size_t i = 0; i < list.items.size(); ++i) {
    hashes.emplace_back(std::hash<std::string_view>()(list.items[i].path), i);
  }
  std::sort(hashes.begin(), hashes.end());
  std::pair<size_t, size_t> first = {list.items.size(), 0};  // again, before
  for (size_t begin = 0; begin < hashes.size();) {
    size_t end = begin + 1;
    while (end < hashes.size() && hashes[end].first == hashes[begin].first) {
      for (size_t other = begin; other < end; ++other) {
        const size_t again = hashes[end].second;
        const size_t before = hashes[other].second;
        if (list.items[again].path != list.items[before].path) continue;
        first = std::min(first, {again, before});
        break;
      }
      ++end;
    }
    begin = end;
  }
  if (first.first == list.items.size()) return;
  throw DataError(where(first.first) + ": " +
                  quote(list.items[first.first].path) +
                  " is there twice, first at " + where(first.second));
}

}  // namespace kith
