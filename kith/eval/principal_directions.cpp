#include "kith/eval/principal_directions.h"

#include <vector>

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

struct Moments {
  Tensor mean;        ///< [D]
  Tensor covariance;  ///< [D, D]
};

Moments moments_of(const Tensor& x) {
  const int64_t count = x.size(0);
  const auto options = x.options().dtype(torch::kDouble);
  const std::vector<Tensor> blocks = x.split(kRows);
  Tensor mean = torch::zeros({x.size(1)}, options);
  for (const Tensor& block : blocks) mean += block.to(torch::kDouble).sum(0);
  mean /= count;
  Tensor covariance = torch::zeros({x.size(1), x.size(1)}, options);
  for (const Tensor& block : blocks) {
    const Tensor centred = block.to(torch::kDouble) - mean;
    covariance.addmm_(centred.t(), centred);
  }
  covariance /= count;
  return {mean.cpu(), covariance.cpu()};
}

/// Rows turned so that their entry of largest magnitude is positive.
Tensor with_fixed_signs(const Tensor& rows) {
  const Tensor largest = rows.abs().argmax(1, /*keepdim=*/true);
  return rows * rows.gather(1, largest).sign();
}

void check_directions(const Tensor& vectors, int64_t found, int64_t dim,
                      const std::string& what) {
  if (found >= dim) return;
  throw DataError(what + " to " + std::to_string(dim) + " dimensions: the " +
                  std::to_string(vectors.size(0)) + " descriptors of " +
                  std::to_string(vectors.size(1)) + " numbers vary in " +
                  std::to_string(found) +
                  " directions only; learn it from more images, or take at "
                  "most " +
                  std::to_string(found) + " dimensions");
}

}  // namespace

PrincipalDirections principal_directions(const Tensor& vectors, int64_t dim,
                                         const std::string& what) {
  const torch::NoGradGuard no_grad;
  const Moments moments = moments_of(vectors);
  if (!torch::isfinite(moments.covariance).all().item<bool>()) {
    throw DataError(what + ": a descriptor has a NaN or infinite value");
  }
  const int64_t rows = dim == 0 ? vectors.size(1) : dim;
  const auto [values, columns] = torch::linalg_eigh(moments.covariance, "L");
  // Ascending, one vector a column.
  const Tensor variances = values.flip(0);
  const double widest = variances[0].item<double>();
  const Tensor is_data =
      (variances > widest * kNoise).logical_and(variances > 0);
  check_directions(vectors, is_data.sum().item<int64_t>(), rows, what);
  return {moments.mean,
          with_fixed_signs(columns.t().flip(0).slice(0, 0, rows)).contiguous(),
          variances.slice(0, 0, rows).sqrt().unsqueeze(1)};
}

}  // namespace kith
