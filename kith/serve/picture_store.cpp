#include "kith/serve/picture_store.h"

#include <vector>

#include "kith/data/input.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"
#include "kith/image/resize.h"

namespace kith {

Image item_picture(const StoredIndex& index, int64_t position) {
  try {
    return decode_image(index.item(position).path);
  } catch (const DataError& error) {
    throw ItemPictureError(position, error.what());
  }
}

PictureStore::PictureStore(const StoredIndex& index, int64_t cache_bytes)
    : index_(index), most_bytes_(static_cast<size_t>(cache_bytes)) {}

std::string PictureStore::jpeg(int64_t position, int side) {
  const Key key{position, side};
  {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->bytes;
    }
  }
  std::string bytes = make(key);
  keep(key, bytes);
  return bytes;
}

int64_t PictureStore::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(bytes_);
}

std::string PictureStore::make(const Key& key) const {
  constexpr int kQuality = 90;
  const Image image = item_picture(index_, key.first);
  const Size size = size_within({image.width, image.height}, key.second);
  const std::vector<uint8_t> bytes =
      encode_jpeg(resize(image, size.width, size.height), kQuality);
  return {bytes.begin(), bytes.end()};
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
