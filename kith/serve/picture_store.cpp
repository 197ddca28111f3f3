#include "kith/serve/picture_store.h"

#include <vector>

#include "kith/data/input.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"
#include "kith/image/resize.h"

namespace kith {

Image item_picture(const ItemPlace& item) {
  try {
    return decode_image(item.file);
  } catch (const DataError& error) {
    throw ItemPictureError(item.position, error.what());
  }
}

PictureStore::PictureStore(int64_t cache_bytes)
    : most_bytes_(static_cast<size_t>(cache_bytes)) {}

std::string PictureStore::jpeg(const ItemPlace& item, int side) {
  constexpr int kQuality = 90;
  const Key key{item.file, file_mark(item.file), side};
  {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->bytes;
    }
  }
  const Image image = item_picture(item);
  const Size size = size_within({image.width, image.height}, side);
  const std::vector<uint8_t> jpeg =
      encode_jpeg(resize(image, size.width, size.height), kQuality);
  std::string bytes(jpeg.begin(), jpeg.end());
  keep(key, bytes);
  return bytes;
}

int64_t PictureStore::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(bytes_);
}

void PictureStore::keep(const Key& key, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  // Another thread may have made the same picture meanwhile.
  if (bytes.size() > most_bytes_ || places_.count(key) != 0) return;
  entries_.push_front({key, bytes});
  places_[key] = entries_.begin();
  bytes_ += bytes.size();
  while (bytes_ > most_bytes_) {
    bytes_ -= entries_.back().bytes.size();
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace kith
