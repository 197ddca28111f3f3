#include "kith/eval/whitening.h"

#include <utility>
#include <vector>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/distributed/communicator.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"

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

void check_directions(const Tensor& descriptors, int64_t found, int64_t dim) {
  if (found >= dim) return;
  throw DataError("whitening to " + std::to_string(dim) + " dimensions: the " +
                  std::to_string(descriptors.size(0)) + " descriptors of " +
                  std::to_string(descriptors.size(1)) + " numbers vary in " +
                  std::to_string(found) +
                  " directions only; learn it from more images, or whiten to "
                  "at most " +
                  std::to_string(found) + " dimensions");
}

/// The tensor of this name, which must have `dims` dimensions, as double.
Tensor read_tensor(const SafetensorsFile& file, const std::string& name,
                   size_t dims) {
  const SafetensorsEntry* entry = file.find(name);
  if (entry == nullptr) {
    throw DataError(file.path() + ": no tensor '" + name +
                    "'; a whitening has 'mean' and 'projection'");
  }
  const bool is_float =
      entry->dtype == DType::kF64 || entry->dtype == DType::kF32;
  if (!is_float || entry->shape.size() != dims) {
    throw DataError(file.path() + ": '" + name +
                    "' must be float64 or float32 " +
                    (dims == 1 ? "[D]" : "[dim, D]"));
  }
  const Tensor tensor = to_tensor(file.read(name)).to(torch::kDouble);
  if (!torch::isfinite(tensor).all().item<bool>()) {
    throw DataError(file.path() + ": '" + name +
                    "' has a NaN or infinite value");
  }
  return tensor;
}

}  // namespace

Whitening::Whitening(Tensor mean, Tensor projection)
    : mean_(std::move(mean)), projection_(std::move(projection)) {}

Whitening Whitening::learn(const Tensor& descriptors, int64_t dim) {
  TORCH_CHECK_VALUE(
      descriptors.dim() == 2 && descriptors.numel() > 0 && dim >= 0,
      "[whitening] expected descriptors [N, D] and a dimension, got ",
      descriptors.sizes(), " and ", dim);
  const torch::NoGradGuard no_grad;
  const Moments moments = moments_of(descriptors);
  if (!torch::isfinite(moments.covariance).all().item<bool>()) {
    throw DataError("whitening: a descriptor has a NaN or infinite value");
  }
  const int64_t rows = dim == 0 ? descriptors.size(1) : dim;
  const auto [values, vectors] = torch::linalg_eigh(moments.covariance, "L");
  // Ascending, one vector a column.
  const Tensor variances = values.flip(0);
  const double widest = variances[0].item<double>();
  const Tensor is_data =
      (variances > widest * kNoise).logical_and(variances > 0);
  check_directions(descriptors, is_data.sum().item<int64_t>(), rows);
  const Tensor directions =
      with_fixed_signs(vectors.t().flip(0).slice(0, 0, rows));
  const Tensor widths = variances.slice(0, 0, rows).sqrt().unsqueeze(1);
  return {moments.mean, (directions / widths).contiguous()};
}

Whitening Whitening::load(const std::string& path, int64_t input_dim) {
  const SafetensorsFile file(path);
  Tensor mean = read_tensor(file, "mean", 1);
  Tensor projection = read_tensor(file, "projection", 2);
  const int64_t width = projection.size(1);
  if (mean.size(0) != width || projection.size(0) < 1 ||
      projection.size(0) > width) {
    throw DataError(path + ": 'mean' [" + std::to_string(mean.size(0)) +
                    "] and 'projection' [" +
                    std::to_string(projection.size(0)) + ", " +
                    std::to_string(width) +
                    "] must be [D] and [dim, D] with dim from 1 to D");
  }
  if (width != input_dim) {
    throw DataError(path + ": a whitening of descriptors of " +
                    std::to_string(width) + " numbers, but the model's have " +
                    std::to_string(input_dim) +
                    "; learn it with this model's descriptors");
  }
  return {std::move(mean), std::move(projection)};
}

void Whitening::save(const std::string& path) const {
  write_safetensors(
      path, {{"mean", view_of(mean_)}, {"projection", view_of(projection_)}});
}

void Whitening::take_from_first(Communicator& ranks) {
  if (ranks.is_alone()) return;
  ranks.broadcast(mean_);
  ranks.broadcast(projection_);
}

int64_t Whitening::input_dim() const { return projection_.size(1); }

int64_t Whitening::dim() const { return projection_.size(0); }

Tensor Whitening::apply(const Tensor& x) const {
  TORCH_CHECK_VALUE(x.dim() == 2 && x.size(1) == input_dim(),
                    "[whitening] expected [N, ", input_dim(), "], got ",
                    x.sizes());
  const auto like = x.options();
  return normalize_rows(
      torch::mm(x - mean_.to(like), projection_.to(like).t()));
}

}  // namespace kith
