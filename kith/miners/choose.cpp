#include "kith/miners/choose.h"

#include <torch/torch.h>

namespace kith {

Tensor draw_uniform(Rng& rng, int64_t draws, int64_t count,
                    c10::Device device) {
  const Tensor host = torch::empty({draws, count}, torch::kDouble);
  double* values = host.data_ptr<double>();
  for (int64_t i = 0; i < draws * count; ++i) values[i] = rng.uniform();
  return host.to(device, /*non_blocking=*/true);
}

Tensor which_of(const Tensor& u, const Tensor& count) {
  // The conversion cuts off. With u at most 1 - 2^-53 the product is rounded
  // below the count, if that has up to 53 bits.
  return (u * count).to(count.scalar_type());
}

Choice choose_uniform(const Tensor& mask, const Tensor& u) {
  return choose_weighted(mask.to(torch::kInt), u);
}

Choice choose_weighted(Tensor weights, const Tensor& u) {
  weights.cumsum_(1);
  const Tensor total = weights.select(1, -1);
  const Tensor wanted = which_of(u, total).add_(1);
  const Tensor position =
      torch::searchsorted(weights, wanted.unsqueeze(1)).squeeze(1);
  const Tensor found = total > 0;
  return {position.mul_(found), found};
}

Tensor triplets(const Tensor& keep, const Tensor& positives,
                const Tensor& negatives) {
  const Tensor anchors = keep.nonzero().flatten();
  return torch::stack({anchors, positives.index_select(0, anchors),
                       negatives.index_select(0, anchors)},
                      1);
}

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
