#include "kith/eval/buckets.h"

#include <algorithm>
#include <utility>

namespace kith {

int64_t BucketLimits::in_pass(int width, int height) const {
  const int64_t area = static_cast<int64_t>(width) * height;
  return std::max<int64_t>(1, std::min(pictures, pixels / area));
}

Buckets::Buckets(const BucketLimits& limits, Use use)
    : limits_(limits), use_(std::move(use)) {}

void Buckets::add(Picture picture) {
  const Key key{picture.scale, picture.image.width, picture.image.height};
  const int64_t enough =
      limits_.in_pass(picture.image.width, picture.image.height);
  ++waiting_;
  waiting_bytes_ += static_cast<int64_t>(picture.image.pixels.size());
  const auto bucket = buckets_.try_emplace(key).first;
  bucket->second.push_back(std::move(picture));
  if (static_cast<int64_t>(bucket->second.size()) >= enough) hand_on(bucket);
  while (waiting_ > limits_.waiting || waiting_bytes_ > limits_.waiting_bytes) {
    hand_on(std::max_element(buckets_.begin(), buckets_.end(),
                             [](const auto& a, const auto& b) {
                               return a.second.size() < b.second.size();
                             }));
  }
}

void Buckets::finish() {
  while (!buckets_.empty()) hand_on(buckets_.begin());
}

void Buckets::hand_on(Waiting::iterator bucket) {
  const std::vector<Picture> pictures = std::move(bucket->second);
  buckets_.erase(bucket);
  for (const Picture& picture : pictures) {
    --waiting_;
    waiting_bytes_ -= static_cast<int64_t>(picture.image.pixels.size());
  }
  use_(pictures);
}

}  // namespace kith
