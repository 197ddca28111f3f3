#include "kith/ops/rounded_weights.h"

#include <utility>

#include <torch/torch.h>

namespace kith {
namespace {

/// The innermost of this thread.
thread_local RoundedWeights* rounded_weights = nullptr;

}  // namespace

RoundedWeights::Use::Use(RoundedWeights& weights)
    : before_(std::exchange(rounded_weights, &weights)) {}
RoundedWeights::Use::~Use() { rounded_weights = before_; }

int64_t RoundedWeights::bytes() const {
  int64_t sum = 0;
  for (const auto& [key, copy] : copies_) {
    sum += static_cast<int64_t>(copy.rounded.nbytes());
  }
  return sum;
}

Tensor rounded(const Tensor& weight, at::ScalarType type) {
  const torch::NoGradGuard no_grad;
  if (weight.scalar_type() == type) return weight.detach();
  const bool is_kept = rounded_weights != nullptr && weight.requires_grad() &&
                       weight.is_leaf() && !weight.is_inference();
  if (!is_kept) return weight.to(type);
  RoundedWeights::Copy& copy =
      rounded_weights->copies_[weight.unsafeGetTensorImpl()];
  const auto version = static_cast<int64_t>(weight._version());
  if (!copy.rounded.defined() || copy.rounded.scalar_type() != type ||
      copy.data != weight.data_ptr() || copy.version != version) {
    copy = {weight, weight.data_ptr(), version, weight.to(type)};
  }
  return copy.rounded;
}

}  // namespace kith
