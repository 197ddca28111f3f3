#include "kith/ops/gram.h"

#include <torch/torch.h>

#include "kith/ops/pairwise.h"

namespace kith {

Tensor squared_distances(const Tensor& x) {
  const at::NoGradGuard no_grad;
  constexpr double kRoundings = 32;
  const Tensor power = x.square().sum(1);  // [N]
  Tensor squares = torch::addmm(power, x, x.t(), 1, -2);
  squares.add_(power.unsqueeze(1));
  const Tensor least = power.unsqueeze(1) * (kRoundings * epsilon_of(x));
  return squares.masked_fill_(squares <= least, 0);
}

Tensor squared_distances_gradient(const Tensor& x, const Tensor& slope) {
  const at::NoGradGuard no_grad;
  const Tensor both = slope + slope.t();
  return torch::addmm(x * both.sum(1, /*keepdim=*/true), both, x, 2, -2);
}

}  // namespace kith
