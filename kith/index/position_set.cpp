#include "kith/index/position_set.h"

#include <algorithm>

#include "kith/core/error.h"

namespace kith {

bool PositionSet::contains(int64_t position) const {
  const auto behind = std::upper_bound(
      ranges_.begin(), ranges_.end(), position,
      [](int64_t at, const Range& range) { return at < range.first; });
  return behind != ranges_.begin() && position <= std::prev(behind)->last;
}

int64_t PositionSet::nth_outside(int64_t n) const {
  // The first range that begins behind the position that is looked for.
  size_t lo = 0;
  size_t hi = ranges_.size();
  while (lo < hi) {
    const size_t middle = lo + (hi - lo) / 2;
    if (ranges_[middle].first - before_[middle] <= n) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return n + (lo < ranges_.size() ? before_[lo] : size_);
}

void PositionSet::append(Range range) {
  KITH_ASSERT(range.first <= range.last &&
              (ranges_.empty() || range.first > ranges_.back().last));
  if (!ranges_.empty() && range.first == ranges_.back().last + 1) {
    ranges_.back().last = range.last;
  } else {
    ranges_.push_back(range);
    before_.push_back(size_);
  }
  size_ += range.last - range.first + 1;
}

}  // namespace kith
