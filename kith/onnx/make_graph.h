#pragma once

#include <map>
#include <memory>
#include <string>

#include "kith/onnx/onnx_builder.h"
#include "kith/onnx/operation.h"

namespace torch::jit {
struct Graph;
}  // namespace torch::jit

namespace kith {

/// Names of weights, by their memory.
using WeightNames = std::map<const void*, std::string>;

/// Adds a network to a model that has an input and an output: its operations,
/// but for those of constants alone, which are done here. Two recordings of
/// other numbers (`pictures`), and perhaps sizes, of pictures tell which
/// numbers in them are such. ConfigError for what cannot be written for any.
void make_graph(torch::jit::Graph& first, torch::jit::Graph& second,
                Extent pictures, const WeightNames& weights, OnnxModel& model,
                OnnxBuilder& builder);

}  // namespace kith
