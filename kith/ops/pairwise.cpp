#include "kith/ops/pairwise.h"

#include <algorithm>

#include <torch/torch.h>

namespace kith {
namespace {

/// sqrt whose gradient at zero is zero.
Tensor safe_sqrt(const Tensor& squared) {
  const Tensor zero = squared == 0;
  return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0);
}

}  // namespace

Tensor normalize_rows(const Tensor& x) {
  const Tensor norm = safe_sqrt(x.square().sum(1, /*keepdim=*/true));
  return x / norm.masked_fill(norm == 0, 1);
}

Tensor norm_penalty(const Tensor& x, double weight, bool squared) {
  const Tensor square = x.square().sum(1);
  const Tensor terms = squared ? square : safe_sqrt(square);
  return terms.sum() *
         (weight / static_cast<double>(std::max<int64_t>(x.size(0), 1)));
}

Tensor row_distances(const Tensor& a, const Tensor& b) {
  return safe_sqrt((a - b).square().sum(1));
}

Tensor all_distances(const Tensor& x) {
  constexpr int64_t kWithoutInnerProducts = 2;
  return torch::cdist(x, x, 2.0, kWithoutInnerProducts);
}

Tensor positive_mask(const Tensor& labels) {
  return (labels.unsqueeze(0) == labels.unsqueeze(1)).fill_diagonal_(false);
}

Tensor negative_mask(const Tensor& labels) {
  return labels.unsqueeze(0) != labels.unsqueeze(1);
}

}  // namespace kith
