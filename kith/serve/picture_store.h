#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "kith/core/error.h"
#include "kith/image/image.h"
#include "kith/serve/file_mark.h"
#include "kith/serve/search_service.h"

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
/// for what clients send are not for it. ItemPictureError if it cannot be read
/// or is not below the item's root; BusyError when the deadline passes.
Image item_picture(const ItemPlace& item, Deadline deadline = kNoDeadline);

/// The pictures of items as small JPEGs. They are decoded and encoded anew:
/// nothing that a file may hide goes to a browser. Those shown last are kept,
/// up to a number of bytes, as long as their files do not change: an index
/// that has other items, or other pictures of them, gets its own.
class PictureStore {
 public:
  explicit PictureStore(int64_t cache_bytes);

  /// The item's picture with its long side cut to `side` pixels.
  /// Errors as of item_picture(). Safe from several threads.
  std::string jpeg(const ItemPlace& item, int side,
                   Deadline deadline = kNoDeadline);

  int64_t cached_bytes() const;

 private:
  using Key = std::tuple<std::string, FileMark, int>;
  struct Entry {
    Key key;
    std::string bytes;
  };

  void keep(const Key& key, const std::string& bytes);

  size_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< Last shown first.
  std::map<Key, std::list<Entry>::iterator> places_;
  size_t bytes_ = 0;
};

}  // namespace kith
