#pragma once

#include <map>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "kith/core/tensor.h"

namespace kith {

// What backbones do to the tensors of a weight file that do not fit by name or
// shape. A tensor that cannot be made to fit stays as it is: whoever copies the
// weights reports it.

/// For a model with one channel: the first convolution [O, 3, k, k] of a model
/// for colour becomes [O, 1, k, k] by a sum over the colours, which is what it
/// makes of a grey picture given three times.
void adapt_channels(NamedTensors& weights, const std::string& name,
                    int64_t channels);

/// What modules, or tensors of their own, are called elsewhere, and by kith.
using OtherNames = std::map<std::string, std::string>;

/// Tensors get kith's names: those of a module (other name "stem.conv", tensor
/// "stem.conv.weight") and those that stand in `names` themselves. One of the
/// `prefixes` in front ("resnet.") is taken off where a known name follows.
void rename_tensors(NamedTensors& weights, const OtherNames& names,
                    const std::vector<std::string>& prefixes = {});

/// The way back: tensors of kith's get the other names, of which there is one
/// for each.
void rename_back(NamedTensors& weights, const OtherNames& names);

/// Tensors that differ from those of `net` in dimensions of size 1 alone get
/// its shapes: a linear layer and a 1x1 convolution are the same.
void fit_unit_dimensions(NamedTensors& weights, const torch::nn::Module& net);

/// Caffe's names of layers, such as inception_3a/1x1, have _ in place of /.
void rename_caffe_weights(NamedTensors& weights);

}  // namespace kith
