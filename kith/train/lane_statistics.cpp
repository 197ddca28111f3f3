#include "kith/train/lane_statistics.h"

#include <utility>

#include <torch/torch.h>

namespace kith {

LaneStatistics::LaneStatistics(std::vector<Tensor> buffers, const Lanes& lanes,
                               Communicator& ranks)
    : buffers_(std::move(buffers)), sum_(lanes, ranks) {
  if (lanes.count == 1) buffers_.clear();
  if (!buffers_.empty()) before_ = values();
}

/// In double, which holds floats and counters alike.
Tensor LaneStatistics::values() const {
  std::vector<Tensor> flat;
  for (const Tensor& buffer : buffers_) {
    flat.push_back(buffer.flatten().to(at::kDouble));
  }
  return torch::cat(flat);
}

void LaneStatistics::set(const Tensor& values) {
  const torch::NoGradGuard no_grad;
  int64_t begin = 0;
  for (const Tensor& buffer : buffers_) {
    // Unseen by graphs that were kept: backward through batch norm in training
    // does not read them.
    buffer.variable_data().copy_(
        values.narrow(0, begin, buffer.numel()).view_as(buffer));
    begin += buffer.numel();
  }
}

void LaneStatistics::begin_lane() {
  if (!buffers_.empty()) set(before_);
}

void LaneStatistics::end_lane(bool counts) {
  if (buffers_.empty()) return;
  const Tensor change = values() - before_;
  sum_.add(counts ? change : torch::zeros_like(change));
}

void LaneStatistics::finish(int64_t lanes) {
  if (buffers_.empty()) return;
  const Tensor change = sum_.total();
  int64_t begin = 0;
  for (const Tensor& buffer : buffers_) {
    if (buffer.is_floating_point()) {
      change.narrow(0, begin, buffer.numel()).div_(static_cast<double>(lanes));
    }
    begin += buffer.numel();
  }
  set(before_ + change);
}

}  // namespace kith
