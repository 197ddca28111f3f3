#include "kith/ops/snr.h"

#include <limits>

#include <torch/torch.h>

namespace kith {
namespace {

/// Of |c|^2 as a part of |x|^2 where all coordinates are equal.
double rounding_of(const Tensor& x) {
  constexpr double kRoundings = 4;
  const double one =
      kRoundings *
      (x.scalar_type() == at::kDouble
           ? std::numeric_limits<double>::epsilon()
           : static_cast<double>(std::numeric_limits<float>::epsilon()));
  return one * one;
}

}  // namespace

SnrRows snr_rows(const Tensor& x) {
  SnrRows rows;
  const Tensor mean = x.mean(1, /*keepdim=*/true);
  rows.mean = mean.squeeze(1);
  rows.centred = x - mean;
  const Tensor power = rows.centred.square().sum(1);
  // |x|^2 = |c|^2 + D mean^2, of which |c|^2 is next to nothing here.
  rows.flat =
      power.detach() <= rows.mean.detach().square().mul_(
                            static_cast<double>(x.size(1)) * rounding_of(x));
  rows.inverse =
      power.masked_fill(rows.flat, std::numeric_limits<double>::infinity())
          .reciprocal();
  return rows;
}

}  // namespace kith
