#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>

#include "kith/core/tensor.h"
#include "kith/ops/activation.h"

namespace kith {

// What the convolutional families have in common beside ConvNorm.

/// Lists of a part's options, by their names.
using StageLists =
    std::vector<std::pair<const char*, const std::vector<int64_t>*>>;

/// ConfigError if there are more than 16 stages or one of `lists` does not have
/// an entry for each. `part` is what errors call the part: "regnet".
void check_stages(const std::string& part, const std::vector<int64_t>& depths,
                  const StageLists& lists);

/// ConfigError if one of `kernels` is even: the map would move.
void check_kernels(const std::string& part,
                   const std::vector<int64_t>& kernels);

/// A module that only gives names to what is registered in it.
std::shared_ptr<torch::nn::Module> add_named_module(torch::nn::Module& owner,
                                                    const std::string& name);

/// Weights each channel of each picture by what a small network makes of the
/// means of all channels (squeeze and excitation, Hu et al., 2018). It is no
/// module itself: two 1x1 convolutions with bias, "fc1" and "fc2", belong to
/// `owner`.
class SqueezeExcite {
 public:
  /// `gate`: "sigmoid" or "hardsigmoid".
  SqueezeExcite(torch::nn::Module& owner, int64_t channels, int64_t squeezed,
                Activation activation, std::string gate);

  /// [N, C, H, W], which the caller does not need any more.
  Tensor operator()(Tensor x) const;

 private:
  Activation activation_;
  std::string gate_;
  torch::nn::Conv2d reduce_{nullptr};
  torch::nn::Conv2d expand_{nullptr};
};

}  // namespace kith
