#pragma once

// The one header that names LibTorch types for other headers: it includes the
// smallest part of LibTorch that has at::Tensor (3 s to compile; all of
// <torch/torch.h> takes 15 s).

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace kith {

using at::Tensor;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace kith
