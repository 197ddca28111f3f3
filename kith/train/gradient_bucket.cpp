#include "kith/train/gradient_bucket.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/torch_compat.h"
#include "kith/ops/stream.h"
#include "kith/train/one_pass.h"

namespace kith {
namespace {

/// Where a parameter's numbers begin, kernels may use wide loads.
constexpr int64_t kBeginAt = 16;

int64_t rounded_up(int64_t count, int64_t to) {
  return (count + to - 1) / to * to;
}

/// `gradient` with the strides of `part`, which has its sizes, if it lies in
/// memory as that does; else undefined. Strides of what has size 1 mean
/// nothing, but operators on lists take the slow way where they differ.
Tensor with_strides_of(const Tensor& part, const Tensor& gradient) {
  if (gradient.scalar_type() != part.scalar_type() ||
      gradient.device() != part.device() || gradient.is_sparse() ||
      !part.is_non_overlapping_and_dense()) {
    return {};
  }
  if (gradient.strides() == part.strides()) return gradient;
  if (!lie_in_one_order(gradient, part)) return {};
  return gradient.as_strided(part.sizes(), part.strides());
}

/// Few launches on a GPU.
void copy_all(const std::vector<Tensor>& to, const std::vector<Tensor>& from) {
#if KITH_TORCH_AT_LEAST(2, 2)
  if (!to.empty()) at::_foreach_copy_(to, from, /*non_blocking=*/true);
#else
  for (size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
#endif
}

}  // namespace

GradientBucket::GradientBucket(std::vector<Tensor> parameters,
                               const Lanes& lanes, Communicator& ranks)
    : parameters_(std::move(parameters)),
      lanes_(lanes),
      is_one_(ranks.size() == 1),
      has_(parameters_.size()),
      lane_sum_(lanes, ranks) {
  const torch::NoGradGuard no_grad;
  const auto options = parameters_.front().options().requires_grad(false);
  const auto width = static_cast<int64_t>(options.dtype().itemsize());
  const int64_t grain = std::max<int64_t>(1, kBeginAt / width);
  int64_t count = 0;
  for (const Tensor& parameter : parameters_) {
    begins_.push_back(count);
    count += rounded_up(parameter.numel(), grain);
  }
  flags_at_ = count;
  flags_.assign(parameters_.size(), 0);
  if (!is_one_) count += static_cast<int64_t>(flags_.size());
  // Ranks get equal shares, which need no padding on the way.
  count = rounded_up(count, ranks.size());
  lane_ = torch::zeros({count}, options);
  sum_ = torch::empty({count}, options);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    lane_parts_.push_back(part_of(lane_, i));
    sum_parts_.push_back(part_of(sum_, i));
  }
}

/// Of a parameter's gradient, where its numbers are. The optimiser is quick if
/// it lies as the parameter does, channels last or not.
Tensor GradientBucket::part_of(const Tensor& numbers, size_t parameter) const {
  const Tensor& like = parameters_[parameter];
  if (like.is_non_overlapping_and_dense()) {
    return numbers.as_strided(like.sizes(), like.strides(), begins_[parameter]);
  }
  return numbers.narrow(0, begins_[parameter], like.numel()).view(like.sizes());
}

void GradientBucket::take() {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> to, from;
  std::vector<float> flags(parameters_.size(), 0);
  if (added_ == 0) has_.assign(parameters_.size(), false);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& grad = parameters_[i].mutable_grad();
    if (!grad.defined()) {
      if (flags_[i] > 0) lane_parts_[i].zero_();
      continue;
    }
    has_[i] = true;
    flags[i] = 1;
    Tensor alike = with_strides_of(lane_parts_[i], grad);
    if (alike.defined()) {
      to.push_back(lane_parts_[i]);
      from.push_back(std::move(alike));
    } else {
      lane_parts_[i].copy_(grad);
    }
    grad.reset();
  }
  copy_all(to, from);
  // Mostly those of the step before: what comes from the host waits for the
  // GPU.
  if (std::exchange(flags_, flags) == flags || is_one_) return;
  lane_.narrow(0, flags_at_, static_cast<int64_t>(flags_.size()))
      .copy_(torch::tensor(flags_));
}

void GradientBucket::add() {
  const torch::NoGradGuard no_grad;
  const int64_t own = lanes_.last - lanes_.first;
  const bool is_first = added_ == 0;
  const bool is_last = ++added_ == own;
  if (is_last) {
    added_ = 0;
    lane_sum_.add(lane_);
  } else {
    lane_sum_.add(is_first ? sum_.copy_(lane_) : lane_.clone());
  }
}

void GradientBucket::add_up() { lane_sum_.total_into(sum_); }

Tensor GradientBucket::flags() const {
  if (is_one_) return {};
  return sum_.narrow(0, flags_at_, static_cast<int64_t>(flags_.size()));
}

void GradientBucket::put_back(const float* has) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (has == nullptr ? has_[i] : has[i] > 0) {
      parameters_[i].mutable_grad() = sum_parts_[i];
    }
  }
}

void GradientBucket::use_on_this_stream() const {
  kith::use_on_this_stream(lane_);
  kith::use_on_this_stream(sum_);
  // Copies of lanes between the first and the last are freed here.
  for (const Tensor& sum : lane_sum_.waiting()) kith::use_on_this_stream(sum);
}

}  // namespace kith
