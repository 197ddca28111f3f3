#pragma once

#include <cmath>
#include <cstdint>

#include <torch/torch.h>

#include "kith/models/embedding_net.h"
#include "tests/support/torch/tensors.h"

namespace kith {

/// The same network every time.
inline EmbeddingNet fixed_net() {
  EmbeddingNet net(complete_model(
      parse_config("{input: {size: 16}, backbone: {name: convnet, width: 4}, "
                   "head: {dim: 6}}",
                   "test")));
  const torch::NoGradGuard no_grad;
  uint64_t seed = 0;
  for (auto& [name, tensor] : net.state()) {
    if (!tensor.is_floating_point()) continue;
    const Tensor drawn =
        random_normal(tensor.sizes().vec(), ++seed, at::kFloat);
    if (tensor.dim() > 1) {  // what keeps the variance of activations
      const auto inputs = static_cast<double>(tensor.numel() / tensor.size(0));
      tensor.copy_(drawn * std::sqrt(2 / inputs));
    } else {
      const bool is_scale = name.ends_with("weight") || name.ends_with("var");
      tensor.copy_(drawn.abs() / 10 + (is_scale ? 1 : 0));
    }
  }
  net.eval();
  return net;
}

}  // namespace kith
