#include "kith/data/cache.h"

namespace kith {

ImageCache::ImageCache(const DataSet& data, int64_t budget_bytes)
    : data_(data), budget_(budget_bytes), kept_(data.list().items.size()) {}

std::shared_ptr<const Image> ImageCache::load(int64_t index) {
  const auto slot = static_cast<size_t>(index);
  if (slot < kept_.size()) {  // data_.load() refuses all others
    const std::lock_guard lock(mutex_);
    if (kept_[slot]) return kept_[slot];
  }
  // Decoded without the lock; of two threads with the same picture the first
  // one's is kept.
  auto image = std::make_shared<const Image>(data_.load(index));
  const auto bytes =
      static_cast<int64_t>(sizeof(Image) + image->pixels.capacity());
  const std::lock_guard lock(mutex_);
  if (kept_[slot] || stats_.full) return image;
  if (bytes > budget_ - stats_.bytes) {
    stats_.full = true;
    return image;
  }
  kept_[slot] = image;
  ++stats_.count;
  stats_.bytes += bytes;
  return image;
}

ImageCache::Stats ImageCache::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace kith
