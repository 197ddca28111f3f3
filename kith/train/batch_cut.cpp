#include "kith/train/batch_cut.h"

#include <algorithm>

namespace kith {
namespace {

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Chunks of a lane that is an equal share, at most.
constexpr int64_t kChunksOfLane = 1 << 20;

}  // namespace

BatchCut::BatchCut(int64_t sub_batch, bool equal, const Lanes& lanes,
                   Communicator& ranks)
    : sub_batch_(sub_batch), equal_(equal), lanes_(lanes), ranks_(ranks) {}

int64_t BatchCut::chunk(int64_t count) const {
  const int64_t share = std::max<int64_t>(1, divided_up(count, lanes_.count));
  return sub_batch_ == 0 ? share : std::min(sub_batch_, share);
}

int64_t BatchCut::begin_of(int64_t lane, int64_t count) const {
  if (equal_) return count * lane / lanes_.count;
  const int64_t size = chunk(count);
  return std::min(count,
                  size * (divided_up(count, size) * lane / lanes_.count));
}

BatchCut::Lane BatchCut::lane(int64_t lane, int64_t count) const {
  const int64_t begin = begin_of(lane, count);
  return {begin, begin_of(lane + 1, count),
          equal_ ? lane * kChunksOfLane : begin / chunk(count)};
}

int64_t BatchCut::filled(int64_t count) const {
  int64_t lanes = 0;
  for (int64_t n = 0; n < lanes_.count; ++n) {
    lanes += begin_of(n, count) < begin_of(n + 1, count) ? 1 : 0;
  }
  return lanes;
}

BatchLanes BatchCut::of(int64_t count) const {
  BatchLanes batch{ranks_, lanes_, {}};
  for (int64_t rank = 0; rank <= ranks_.size(); ++rank) {
    batch.begins.push_back(
        begin_of(lanes_.begin_of(rank, ranks_.size()), count));
  }
  return batch;
}

}  // namespace kith
