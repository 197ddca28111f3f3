#include "kith/miners/distances.h"

#include <torch/torch.h>

#include "kith/ops/gpu.h"

namespace kith {

Tensor mining_products(const Tensor& embeddings) {
  const ProductPrecision full(/*tf32=*/false);
  const Tensor x = embeddings.detach();
  return torch::mm(x, x.t());
}

Tensor mining_squares(const Tensor& embeddings) {
  const ProductPrecision full(/*tf32=*/false);
  const Tensor x = embeddings.detach();
  const Tensor norms = x.square().sum(1);
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
