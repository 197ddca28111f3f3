#include "kith/eval/principal_directions.h"

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

/// Rows that are made double at a time: all of them might not fit in memory.
constexpr int64_t kRows = 4096;

/// Rounding of float32 descriptors varies by about 1e-7 of their length. What
/// varies by less than 1e-6 of the widest direction (1e-12 of its variance) is
/// that and not data.
constexpr double kNoise = 1e-12;

/// Of `vectors` vectors of `numbers` numbers.
void check_directions(int64_t vectors, int64_t numbers, int64_t found,
                      int64_t least, const std::string& what) {
  if (found >= least) return;
  throw DataError(what + " to " + std::to_string(least) + " dimensions: the " +
                  std::to_string(vectors) + " descriptors of " +
                  std::to_string(numbers) + " numbers vary in " +
                  std::to_string(found) +
                  " directions only; learn it from more images, or take at "
                  "most " +
                  std::to_string(found) + " dimensions");
}

void check_finite(const Tensor& covariance, const std::string& what) {
  if (torch::isfinite(covariance).all().item<bool>()) return;
  throw DataError(what + ": a descriptor has a NaN or infinite value");
}

}  // namespace

Tensor mean_row(const Tensor& x) {
  Tensor mean = torch::zeros({x.size(1)}, x.options().dtype(torch::kDouble));
  for (const Tensor& block : x.split(kRows)) {
    mean += block.to(torch::kDouble).sum(0);
  }
  return mean / x.size(0);
}

Tensor second_moment(const Tensor& x, const Tensor& about) {
  const auto options = x.options().dtype(torch::kDouble);
  const Tensor origin = about.to(options);
  Tensor moment = torch::zeros({x.size(1), x.size(1)}, options);
  for (const Tensor& block : x.split(kRows)) {
    const Tensor centred = block.to(torch::kDouble) - origin;
    moment.addmm_(centred.t(), centred);
  }
  return (moment / x.size(0)).cpu();
}

Tensor with_fixed_signs(const Tensor& rows) {
  const Tensor largest = rows.abs().argmax(1, /*keepdim=*/true);
  return rows * rows.gather(1, largest).sign();
}

Directions directions_of(const Tensor& covariance) {
  const auto [values, columns] = torch::linalg_eigh(covariance, "L");
  // Ascending, one vector a column.
  const Tensor variances = values.flip(0);
  const double widest = variances[0].item<double>();
  const auto count = (variances > widest * kNoise)
                         .logical_and(variances > 0)
                         .sum()
                         .item<int64_t>();
  return {with_fixed_signs(columns.t().flip(0).slice(0, 0, count)).contiguous(),
          variances.slice(0, 0, count).sqrt().unsqueeze(1)};
}

Tensor varying_directions(const Tensor& covariance, int64_t vectors,
                          int64_t least, const std::string& what) {
  check_finite(covariance, what);
  const Tensor rows = directions_of(covariance).rows;
  check_directions(vectors, covariance.size(0), rows.size(0), least, what);
  return rows;
}

PrincipalDirections principal_directions(const Tensor& vectors, int64_t dim,
                                         const std::string& what) {
  const torch::NoGradGuard no_grad;
  const Tensor mean = mean_row(vectors);
  const Tensor covariance = second_moment(vectors, mean);
  check_finite(covariance, what);
  const int64_t rows = dim == 0 ? vectors.size(1) : dim;
  const Directions found = directions_of(covariance);
  check_directions(vectors.size(0), vectors.size(1), found.rows.size(0), rows,
                   what);
  return {mean.cpu(), found.rows.slice(0, 0, rows).contiguous(),
          found.widths.slice(0, 0, rows)};
}

}  // namespace kith
