#include "kith/samplers/image_row.h"

#include "kith/core/error.h"

namespace kith {

ImageRow::ImageRow(ClassImages classes, Rng& rng) {
  rng.shuffle(classes);
  for (std::vector<int64_t>& members : classes) {
    rng.shuffle(members);
    images_.insert(images_.end(), members.begin(), members.end());
  }
}

void ImageRow::take(size_t count, std::vector<int64_t>& batch) {
  KITH_ASSERT(count <= images_.size());
  for (size_t i = 0; i < count; ++i) {
    batch.push_back(images_[next_]);
    next_ = next_ + 1 == images_.size() ? 0 : next_ + 1;
  }
}

}  // namespace kith
