#include "kith/miners/class_places.h"

#include <torch/torch.h>

#include "kith/miners/choose.h"

namespace kith {

ClassPlaces::ClassPlaces(const Tensor& labels) : count_(labels.size(0)) {
  // Stable, for the same order on every device.
  const auto [sorted, order] =
      torch::sort(labels, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  order_ = order;
  place_ = torch::empty_like(order).scatter_(
      0, order, torch::arange(count_, order.options()));
  first_ = torch::searchsorted(sorted, labels);
  size_ = torch::searchsorted(sorted, labels, /*out_int32=*/false,
                              /*right=*/true) -
          first_;
}

Tensor ClassPlaces::complete() const {
  return size_.gt(1).logical_and_(size_.lt(count_));
}

// Both walk on from the example in a circle: of its class, and of all places
// from the end of its class.
Tensor ClassPlaces::positives(const Tensor& u) const {
  const Tensor step = which_of(u, size_ - 1).add_(1);
  const Tensor within = (place_ - first_ + step).remainder_(size_);
  return order_.index_select(0, within.add_(first_));
}

Tensor ClassPlaces::negatives(const Tensor& u) const {
  const Tensor step = which_of(u, count_ - size_);
  const Tensor place = (first_ + size_).add_(step).remainder_(count_);
  return order_.index_select(0, place);
}

}  // namespace kith
