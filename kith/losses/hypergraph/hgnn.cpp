#include "kith/losses/hypergraph/hgnn.h"

#include <torch/torch.h>

namespace kith {

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
