#include "kith/serve/item_picture.h"

#include "kith/image/decode.h"

namespace kith {

Image item_picture(const StoredIndex& index, int64_t position) {
  try {
    return decode_image(index.item(position).path);
  } catch (const DataError& error) {
    throw ItemPictureError(position, error.what());
  }
}

}  // namespace kith
