#include "kith/eval/whitening.h"

#include <utility>
#include <vector>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/distributed/communicator.h"
#include "kith/eval/principal_directions.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

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

/// Mean of (q - p) (q - p)^T over pairs of rows of x, [D, D] double on the CPU.
Tensor moment_of_differences(const Tensor& x, const Tensor& pairs) {
  constexpr int64_t kPairs = 4096;  // whose differences are made at a time
  const auto options = x.options().dtype(torch::kDouble);
  Tensor moment = torch::zeros({x.size(1), x.size(1)}, options);
  for (const Tensor& block : pairs.to(x.device()).split(kPairs)) {
    const Tensor difference =
        x.index_select(0, block.select(1, 0)).to(torch::kDouble) -
        x.index_select(0, block.select(1, 1)).to(torch::kDouble);
    moment.addmm_(difference.t(), difference);
  }
  return (moment / pairs.size(0)).cpu();
}

void check_descriptors(const Tensor& descriptors, int64_t dim) {
  TORCH_CHECK_VALUE(
      descriptors.dim() == 2 && descriptors.numel() > 0 && dim >= 0,
      "[whitening] expected descriptors [N, D] and a dimension, got ",
      descriptors.sizes(), " and ", dim);
}

}  // namespace

Whitening::Whitening(Tensor mean, Tensor projection)
    : mean_(std::move(mean)), projection_(std::move(projection)) {}

Whitening Whitening::learn(const Tensor& descriptors, int64_t dim) {
  check_descriptors(descriptors, dim);
  const PrincipalDirections found =
      principal_directions(descriptors, dim, "whitening");
  return {found.mean, (found.directions / found.widths).contiguous()};
}

Whitening Whitening::learn_from_pairs(const Tensor& descriptors,
                                      const Tensor& pairs, int64_t dim) {
  const torch::NoGradGuard no_grad;
  check_descriptors(descriptors, dim);
  TORCH_CHECK_VALUE(pairs.dim() == 2 && pairs.size(0) > 0 &&
                        pairs.size(1) == 2 &&
                        pairs.scalar_type() == torch::kLong,
                    "[whitening] expected pairs [P, 2] of rows, int64, got ",
                    pairs.sizes(), " ", pairs.scalar_type());
  const Tensor queries = pairs.select(1, 0).to(descriptors.device());
  const Tensor mean = mean_row(descriptors.index_select(0, queries)).cpu();
  const Tensor all = second_moment(descriptors, mean);
  const Tensor matching = moment_of_differences(descriptors, pairs);
  // Within the directions in which descriptors vary at all: elsewhere neither
  // says anything.
  const std::string what = "whitening from pairs";
  const Tensor basis = varying_directions(
      all, descriptors.size(0), dim == 0 ? descriptors.size(1) : dim, what);
  const Directions equal = directions_of(basis.mm(matching).mm(basis.t()));
  if (equal.rows.size(0) < basis.size(0)) {
    throw DataError(what + ": the " + std::to_string(pairs.size(0)) +
                    " pairs of matching descriptors differ in " +
                    std::to_string(equal.rows.size(0)) + " of the " +
                    std::to_string(basis.size(0)) +
                    " directions in which all vary; learn it from more images "
                    "of a class");
  }
  const Tensor undo = (equal.rows / equal.widths).mm(basis);  // L^(-1)
  const auto [values, columns] =
      torch::linalg_eigh(undo.mm(all).mm(undo.t()), "L");
  const Tensor projection =
      columns.t().flip(0).mm(undo).slice(0, 0, dim == 0 ? undo.size(0) : dim);
  return {mean, with_fixed_signs(projection).contiguous()};
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
