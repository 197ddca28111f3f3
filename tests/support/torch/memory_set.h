#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/rng.h"
#include "kith/data/data_set.h"

namespace kith {

/// Pictures made from their position: size x size grey, an own pattern each.
class MemorySet final : public DataSet {
 public:
  explicit MemorySet(std::vector<Item> items, int size = 16) : size_(size) {
    list_.items = std::move(items);
    for (size_t i = 0; i < list_.items.size(); ++i) {
      list_.items[i].path = "memory/" + std::to_string(i);
    }
  }

  void use_query_gallery() { list_.has_query_gallery = true; }

 protected:
  StoredImage read(int64_t index) const override {
    Image image(size_, size_, 1);
    Rng rng(7, Stream::kReport, {index});
    for (uint8_t& pixel : image.pixels) {
      pixel = static_cast<uint8_t>(rng.below(256));
    }
    return image;
  }

 private:
  int size_;
};

/// `count` items of one split, labelled 0, 0, 1, 1, 2, 2, ...
inline std::vector<Item> paired_items(int64_t count, Split split) {
  std::vector<Item> items(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    items[static_cast<size_t>(i)].label = i / 2;
    items[static_cast<size_t>(i)].split = split;
  }
  return items;
}

}  // namespace kith
