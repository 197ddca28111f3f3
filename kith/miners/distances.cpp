#include "kith/miners/distances.h"

#include <limits>

#include <torch/torch.h>

#include "kith/ops/finite.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

/// Comparisons with NaN are false and infinities are all alike: what is chosen
/// would mean nothing. `squares` [M] are |x|^2; no |x_i - x_j|^2 is above four
/// times the largest. Waits for the device, as listing tuples does.
void check_squares(const Tensor& squares, const Tensor& x) {
  const double most = (x.scalar_type() == at::kDouble
                           ? std::numeric_limits<double>::max()
                           : double{std::numeric_limits<float>::max()}) /
                      4;
  if (squares.max().item<double>() <= most) return;  // false for NaN
  const int64_t row = first_bad_row(x);
  TORCH_CHECK_VALUE(row < 0, "nothing can be mined: row ", row,
                    " of the embeddings (numbered from 0) has a NaN or "
                    "infinite value");
  TORCH_CHECK_VALUE(false,
                    "nothing can be mined: the squares of these embeddings "
                    "are too large for their type; normalise them");
}

}  // namespace

Tensor mining_products(const Tensor& embeddings) {
  const ProductPrecision full(/*tf32=*/false);
  const Tensor x = embeddings.detach();
  const Tensor products = torch::mm(x, x.t());
  check_squares(products.diagonal(), x);
  return products;
}

Tensor mining_squares(const Tensor& embeddings) {
  const ProductPrecision full(/*tf32=*/false);
  const Tensor x = embeddings.detach();
  const Tensor norms = x.square().sum(1);
  check_squares(norms, x);
  // |x_i|^2 + |x_j|^2 - 2 x_i x_j in one matrix; clamp_min_ lets NaN through.
  return torch::addmm(norms.unsqueeze(0), x, x.t(), /*beta=*/1, /*alpha=*/-2)
      .add_(norms.unsqueeze(1))
      .clamp_min_(0);
}

Tensor mining_distances(const Tensor& embeddings) {
  return mining_squares(embeddings).sqrt_();
}

Tensor same_class(const Tensor& labels) {
  return labels.unsqueeze(0) == labels.unsqueeze(1);
}

SplitPairs split_pairs(const Tensor& values, const Tensor& labels,
                       double no_positive, double no_negative) {
  // where() is several times faster on a CPU than masked_fill().
  Tensor same = same_class(labels);
  SplitPairs split;
  split.negative = torch::where(same, no_negative, values);
  same.fill_diagonal_(false);
  split.positive = torch::where(same, values, no_positive);
  return split;
}

}  // namespace kith
