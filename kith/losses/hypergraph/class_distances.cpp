#include "kith/losses/hypergraph/class_distances.h"

#include <torch/torch.h>

#include "kith/ops/gpu.h"
#include "kith/ops/pairwise.h"

namespace kith {

Tensor class_distances(const Tensor& embeddings, const Tensor& means,
                       const Tensor& log_vars) {
  // TF32 would leave three digits of a difference that is scaled by tau.
  const ProductPrecision full(/*tf32=*/false);
  const Tensor x = normalize_rows(embeddings);
  const Tensor mu = normalize_rows(means);
  if (!log_vars.defined()) {
    const Tensor squares = mu.square().sum(1);  // [C]
    return torch::addmm(squares, x, mu.t(), 1, -2) +
           x.square().sum(1, /*keepdim=*/true);
  }
  const Tensor inverse = torch::exp(-torch::relu6(log_vars));  // 1 / variance
  const Tensor scaled = mu * inverse;
  const Tensor squares = (mu * scaled).sum(1);  // [C]
  return torch::addmm(torch::addmm(squares, x.square(), inverse.t()), x,
                      scaled.t(), 1, -2);
}

}  // namespace kith
