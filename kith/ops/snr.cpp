#include "kith/ops/snr.h"

#include <limits>

#include <torch/torch.h>

#include "kith/ops/pairwise.h"

namespace kith {
namespace {

/// Of numbers of x's type: the spacing at 1, and the smallest normal one.
double smallest_of(const Tensor& x) {
  return x.scalar_type() == at::kDouble
             ? std::numeric_limits<double>::min()
             : double{std::numeric_limits<float>::min()};
}

/// A power of two that brings the largest number of all rows near 1. Rows with
/// what is not finite have no say.
Tensor common_scale(const Tensor& x) {
  if (x.size(0) == 0) return torch::ones({}, x.options());
  const Tensor largest = x.abs().amax(1);
  return row_scales(largest.masked_fill(largest.isfinite().logical_not(), 0)
                        .amax()
                        .view({1, 1}))
      .squeeze();
}

}  // namespace

SnrRows snr_rows(const Tensor& x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kRoundings = 4;
  SnrRows rows;
  const Tensor mean = x.mean(1, /*keepdim=*/true);
  rows.mean = mean.squeeze(1);
  const Tensor centred = x - mean;
  rows.scale = common_scale(centred.detach());
  rows.centred = centred / rows.scale;
  const Tensor largest = rows.centred.detach().abs().amax(1);
  rows.flat =
      largest <=
      (rows.mean.detach() / rows.scale).abs_().mul_(kRoundings * epsilon_of(x));
  // One that is too small beside others has no digits left: infinite, so that
  // what is made of it shows.
  const Tensor power = rows.centred.square().sum(1);
  rows.inverse = power.masked_fill(power.detach() < smallest_of(x), 0)
                     .masked_fill(rows.flat, kInfinity)
                     .reciprocal();
  return rows;
}

}  // namespace kith
