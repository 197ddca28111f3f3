#include "kith/serve/picture_store.h"

#include <vector>

#include "kith/core/path.h"
#include "kith/data/input.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"
#include "kith/image/resize.h"

namespace kith {

namespace {

/// No link leads out of the root either.
void check_root(const ItemPlace& item) {
  if (item.root.empty() || is_below(item.file, item.root)) return;
  throw ItemPictureError(
      item.position, item.file + " is not shown: it is not below " + item.root +
                         ", the folder of the index's pictures (option "
                         "'pictures_root')");
}

Image read_item(const ItemPlace& item) {
  check_root(item);
  try {
    return decode_image(item.file);
  } catch (const DataError& error) {
    throw ItemPictureError(item.position, error.what());
  }
}

}  // namespace

Image item_picture(const ItemPlace& item, Deadline deadline) {
  return call_until<Image>(deadline, [item] { return read_item(item); });
}

PictureStore::PictureStore(int64_t cache_bytes)
    : most_bytes_(static_cast<size_t>(cache_bytes)) {}

std::string PictureStore::jpeg(const ItemPlace& item, int side,
                               Deadline deadline) {
  constexpr int kQuality = 90;
  const FileMark mark = call_until<FileMark>(deadline, [item] {
    check_root(item);  // also of what is kept: another index may have no root
    return file_mark(item.file);
  });
  const Key key{item.file, mark, side};
  {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->bytes;
    }
  }
  const auto make = [item, side] {
    const Image image = read_item(item);
    const Size size = size_within({image.width, image.height}, side);
    const std::vector<uint8_t> jpeg =
        encode_jpeg(resize(image, size.width, size.height), kQuality);
    return std::string(jpeg.begin(), jpeg.end());
  };
  std::string bytes = call_until<std::string>(deadline, make);
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
