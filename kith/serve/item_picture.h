#pragma once

#include <cstdint>
#include <string>

#include "kith/core/error.h"
#include "kith/image/image.h"
#include "kith/index/stored_index.h"

namespace kith {

/// The file of an item is gone or no picture any more: not the fault of who
/// asks for it.
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

}  // namespace kith
