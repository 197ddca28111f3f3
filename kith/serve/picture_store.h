#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "kith/core/error.h"
#include "kith/image/image.h"
#include "kith/index/stored_index.h"

namespace kith {

/// The file of an item is gone or no picture any more: not the fault of
/// whoever asks for it.
class ItemPictureError : public DataError {
 public:
  ItemPictureError(int64_t position, const std::string& why)
      : DataError(why), position_(position) {}

  int64_t position() const { return position_; }

 private:
  int64_t position_;
};

/// The picture of an item, as large as pictures that are indexed may be: limits
/// for what clients send are not for it. ItemPictureError if it cannot be read.
Image item_picture(const StoredIndex& index, int64_t position);

/// The pictures of an index's items as small JPEGs. They are decoded and
/// encoded anew: nothing that a file may hide goes to a browser. Those shown
/// last are kept, up to a number of bytes.
class PictureStore {
 public:
  PictureStore(const StoredIndex& index, int64_t cache_bytes);

  /// The item's picture with its long side cut to `side` pixels.
  /// ItemPictureError if its file cannot be read. Safe from several threads.
  std::string jpeg(int64_t position, int side);

  int64_t cached_bytes() const;

 private:
  using Key = std::pair<int64_t, int>;
  struct Entry {
    Key key;
    std::string bytes;
  };

  std::string make(const Key& key) const;
  void keep(const Key& key, const std::string& bytes);

  const StoredIndex& index_;
  size_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< Last shown first.
  std::map<Key, std::list<Entry>::iterator> places_;
  size_t bytes_ = 0;
};

}  // namespace kith
