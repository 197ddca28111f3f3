#include "kith/ops/hypergraph.h"

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

Tensor classes_in(const Tensor& labels) {
  return std::get<0>(at::_unique(labels, /*sorted=*/true));
}

Tensor membership(const Tensor& labels, const Tensor& classes) {
  return labels.unsqueeze(1) == classes;
}

Tensor semantic_tuples(const Tensor& distances, const Tensor& labels,
                       const Tensor& classes, double alpha) {
  // If every class is there, their columns are already the wanted ones.
  const int64_t edges = classes.size(0);
  const Tensor own_distances =
      edges == distances.size(1)
          ? distances
          : distances.gather(1, classes.expand({distances.size(0), edges}));
  return torch::exp(own_distances * -alpha)
      .masked_fill(membership(labels, classes), 1);
}

Hypergraph::Hypergraph(const Tensor& incidence)
    : scaled_(incidence * incidence.sum(1, /*keepdim=*/true).rsqrt() *
              incidence.sum(0, /*keepdim=*/true).rsqrt()) {}

Tensor Hypergraph::spread(const Tensor& y) const {
  return torch::mm(scaled_, torch::mm(scaled_.t(), y));
}

Tensor Hgnn::classify(
    const Tensor& z, const std::function<Tensor(const Tensor&)>& spread) const {
  const Tensor first = spread(torch::linear(z, theta1_weight, theta1_bias));
  const Tensor normalised = torch::batch_norm(
      first, bn1_weight, bn1_bias, /*running_mean=*/{}, /*running_var=*/{},
      /*training=*/true, /*momentum=*/0, /*eps=*/1e-5,
      /*cudnn_enabled=*/false);
  const Tensor hidden = torch::leaky_relu(normalised, 0.1);
  // An infinite variance would make zeros of everything: shown instead.
  const Tensor bad = first.detach().norm() * 0;
  return spread(torch::linear(hidden, theta2_weight, theta2_bias)) + bad;
}

}  // namespace kith
