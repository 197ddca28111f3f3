#include "kith/models/conv_parts.h"

#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/conv_norm.h"

namespace kith {
namespace nn = torch::nn;

namespace {

nn::Conv2d pointwise(nn::Module& owner, const std::string& name, int64_t in,
                     int64_t out) {
  const auto conv =
      owner.register_module(name, nn::Conv2d(nn::Conv2dOptions(in, out, 1)));
  nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanOut, torch::kReLU);
  nn::init::zeros_(conv->bias);
  return conv;
}

/// A 1x1 convolution of one position is a linear layer: [N, in] -> [N, out].
Tensor apply_to_vector(const nn::Conv2d& conv, const Tensor& x) {
  return torch::linear(x, conv->weight.flatten(1), conv->bias);
}

}  // namespace

void check_stages(const std::string& part, const std::vector<int64_t>& depths,
                  const StageLists& lists) {
  constexpr size_t kMost = 16;
  if (depths.size() > kMost) {
    throw ConfigError("'" + part + ".depths' must have at most " +
                      std::to_string(kMost) + " stages, got " +
                      std::to_string(depths.size()));
  }
  for (const auto& [name, list] : lists) {
    if (list->size() == depths.size()) continue;
    throw ConfigError("'" + part + "." + name +
                      "' must have an entry for each of the " +
                      std::to_string(depths.size()) + " stages of '" + part +
                      ".depths', got " + std::to_string(list->size()));
  }
}

void check_kernels(const std::string& part,
                   const std::vector<int64_t>& kernels) {
  for (const int64_t kernel : kernels) {
    if (kernel % 2 == 1) continue;
    throw ConfigError("'" + part + ".kernels' must be odd, got " +
                      std::to_string(kernel));
  }
}

std::shared_ptr<nn::Module> add_named_module(nn::Module& owner,
                                             const std::string& name) {
  return owner.register_module(name, std::make_shared<nn::Module>());
}

SqueezeExcite::SqueezeExcite(nn::Module& owner, int64_t channels,
                             int64_t squeezed, Activation activation,
                             std::string gate)
    : activation_(activation),
      gate_(std::move(gate)),
      reduce_(pointwise(owner, "fc1", channels, squeezed)),
      expand_(pointwise(owner, "fc2", squeezed, channels)) {}

Tensor SqueezeExcite::operator()(Tensor x) const {
  Tensor y = apply_to_vector(reduce_, x.mean({2, 3}));
  y = apply_to_vector(expand_, activated(activation_, y));
  y = gate_ == "sigmoid" ? torch::sigmoid_(y) : torch::hardsigmoid(y);
  y = y.unsqueeze(2).unsqueeze(3);
  const bool keeps =
      torch::GradMode::is_enabled() && (x.requires_grad() || y.requires_grad());
  return keeps ? x * y : x.mul_(y);
}

}  // namespace kith
