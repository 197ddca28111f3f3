#include "kith/ops/pairwise.h"

#include <algorithm>
#include <limits>

#include <torch/torch.h>

#include "kith/ops/is_recorded.h"
#include "kith/ops/unit_rows.h"

namespace kith {
namespace {

double smallest_normal(const Tensor& x) {
  return x.scalar_type() == at::kDouble
             ? std::numeric_limits<double>::min()
             : double{std::numeric_limits<float>::min()};
}

/// sqrt whose gradient at zero is zero.
Tensor safe_sqrt(const Tensor& squared) {
  const Tensor zero = squared == 0;
  return squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0);
}

/// normalize_rows() without a look at bits, which other formats do not have:
/// what is divided by first is the largest number itself. The length is at
/// least 1 then, but for a row of zeros, and what is added to it changes
/// nothing else.
Tensor normalize_recorded_rows(const Tensor& x) {
  const Tensor largest = x.abs().amax(1, /*keepdim=*/true);
  const Tensor scaled = x / (largest + smallest_normal(x));
  return scaled / (scaled.norm(2, 1, /*keepdim=*/true) + smallest_normal(x));
}

}  // namespace

Tensor normalize_rows(const Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  if (type != at::kFloat && type != at::kDouble) {
    return normalize_rows(x.to(at::kFloat)).to(type);
  }
  if (x.numel() == 0) return x.clone();
  if (is_recorded()) return normalize_recorded_rows(x);
  if (can_unit_rows(x)) return unit_rows(x);
  // The scale is a constant: it cancels in the value and in the gradient.
  const Tensor scaled = x / row_scales(x);
  const Tensor norm = scaled.norm(2, 1, /*keepdim=*/true);
  return scaled / norm.masked_fill(norm == 0, 1);
}

double epsilon_of(const Tensor& x) {
  return x.scalar_type() == at::kDouble
             ? std::numeric_limits<double>::epsilon()
             : double{std::numeric_limits<float>::epsilon()};
}

Tensor row_scales(const Tensor& x) {
  const at::NoGradGuard no_grad;
  if (x.numel() == 0) return torch::ones({x.size(0), 1}, x.options());
  const Tensor largest = x.detach().abs().amax(1, /*keepdim=*/true);
  // As power_of_two_in().
  const Tensor power =
      x.scalar_type() == at::kDouble
          ? largest.view(at::kLong)
                .bitwise_and(int64_t{0x7ff0000000000000})
                .view(at::kDouble)
          : largest.view(at::kInt).bitwise_and(0x7f800000).view(at::kFloat);
  return power.masked_fill(power == 0, 1);
}

Tensor norm_penalty(const Tensor& x, double weight, bool squared) {
  Tensor terms;
  if (squared) {
    terms = x.square().sum(1);
  } else {
    const Tensor scales = row_scales(x);
    terms = (x / scales).norm(2, 1, /*keepdim=*/true) * scales;
  }
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
