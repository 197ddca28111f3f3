#include "kith/train/gradient_sum.h"

#include <utility>

#include <torch/torch.h>

namespace kith {
namespace {

int64_t numbers_in(const std::vector<Tensor>& tensors) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.numel();
  return count;
}

}  // namespace

GradientSum::GradientSum(std::vector<Tensor> parameters, const Lanes& lanes,
                         Communicator& ranks)
    : parameters_(std::move(parameters)), sum_(lanes, ranks) {}

/// All gradients behind each other, and for each whether there is one.
void GradientSum::add_lane() {
  if (parameters_.empty()) return;
  const torch::NoGradGuard no_grad;
  const auto count = static_cast<int64_t>(parameters_.size());
  std::vector<float> has;
  Tensor flat = torch::empty({numbers_in(parameters_) + count},
                             parameters_.front().options());
  int64_t begin = 0;
  for (Tensor& parameter : parameters_) {
    Tensor& grad = parameter.mutable_grad();
    Tensor part = flat.narrow(0, begin, parameter.numel());
    if (grad.defined()) {
      part.view_as(parameter).copy_(grad);
    } else {
      part.zero_();
    }
    has.push_back(grad.defined() ? 1 : 0);
    begin += parameter.numel();
    grad.reset();
  }
  flat.narrow(0, begin, count).copy_(torch::tensor(has));
  sum_.add(std::move(flat));
}

void GradientSum::finish() {
  if (parameters_.empty()) return;
  const torch::NoGradGuard no_grad;
  const Tensor flat = sum_.total();
  const auto count = static_cast<int64_t>(parameters_.size());
  const int64_t numbers = flat.numel() - count;
  const Tensor has = flat.narrow(0, numbers, count).cpu().to(at::kFloat);
  int64_t begin = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& parameter = parameters_[i];
    if (has.data_ptr<float>()[i] > 0) {
      parameter.mutable_grad() =
          flat.narrow(0, begin, parameter.numel()).view_as(parameter);
    }
    begin += parameter.numel();
  }
}

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
