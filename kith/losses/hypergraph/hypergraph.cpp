#include "kith/losses/hypergraph/hypergraph.h"

#include <torch/torch.h>

namespace kith {

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

}  // namespace kith
