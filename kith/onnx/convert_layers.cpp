#include <cmath>
#include <utility>

#include <torch/torch.h>

#include "kith/onnx/operation.h"

// Layers: products, convolutions, pooling, normalisation, attention.

namespace kith {
namespace {

using LayerNames = Operation::Names;

/// A single number holds for all dimensions of a map.
std::vector<int64_t> for_each(size_t dimensions, std::vector<int64_t> sizes) {
  if (sizes.size() == 1) sizes.resize(dimensions, sizes.front());
  return sizes;
}

/// Beginnings and ends.
std::vector<int64_t> pads_of(const std::vector<int64_t>& padding) {
  std::vector<int64_t> pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

LayerNames convolution(Operation& op) {
  if (op.has("transposed") && op.truth("transposed"))
    op.refuse("it is transposed");
  std::vector<std::string> inputs = {op.tensor("input"), op.tensor("weight")};
  if (op.has("bias")) inputs.push_back(op.tensor("bias"));
  const Extents& weight = op.at("weight").extents;
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < weight.size(); ++i) kernel.push_back(weight[i].first);
  const auto along = [&](const char* argument) {
    return for_each(kernel.size(), op.integers(argument));
  };
  return op.add("Conv", inputs,
                {{"dilations", along("dilation")},
                 {"group", op.integer("groups")},
                 {"kernel_shape", kernel},
                 {"pads", pads_of(along("padding"))},
                 {"strides", along("stride")}});
}

/// What max and average pooling have in common.
OnnxAttributes windows(const Operation& op) {
  const std::vector<int64_t> kernel = for_each(2, op.integers("kernel_size"));
  std::vector<int64_t> stride = for_each(2, op.integers("stride"));
  if (stride.empty()) stride = kernel;
  return {{"ceil_mode", int64_t{op.truth("ceil_mode")}},
          {"kernel_shape", kernel},
          {"pads", pads_of(for_each(2, op.integers("padding")))},
          {"strides", stride}};
}

LayerNames max_pool(Operation& op) {
  for (const int64_t step : op.integers("dilation")) {
    if (step != 1) op.refuse("its windows have gaps");
  }
  return op.add("MaxPool", {op.tensor("self")}, windows(op));
}

LayerNames average_pool(Operation& op) {
  if (op.has("divisor_override")) op.refuse("it has a divisor of its own");
  OnnxAttributes attributes = windows(op);
  attributes.push_back(
      {"count_include_pad", int64_t{op.truth("count_include_pad")}});
  return op.add("AveragePool", {op.tensor("self")}, attributes);
}

LayerNames adaptive_average_pool(Operation& op) {
  for (const int64_t size : op.integers("output_size")) {
    if (size != 1) op.refuse("it makes more than one position");
  }
  return op.add("GlobalAveragePool", {op.tensor("self")});
}

/// x w^T + b of a constant w, where b may be empty.
LayerNames linear_layer(Operation& op, const char* input, const Tensor& weight,
                        const std::string& label, const std::string& bias) {
  OnnxBuilder& model = op.model();
  const std::string name = label.empty() ? "weight" : label;
  const std::string x = op.tensor(input);
  if (op.at(input).extents.size() == 2 && !bias.empty()) {
    // OpenCV wants the weights like this.
    return op.add("Gemm", {x, model.constant(name, weight), bias},
                  {{"transB", int64_t{1}}});
  }
  const std::string product =
      model.add("MatMul", {x, model.constant(name, weight.t())});
  return bias.empty() ? LayerNames{product} : op.add("Add", {product, bias});
}

LayerNames linear(Operation& op) {
  const Traced& weight = op.at("weight");
  if (!weight.is_constant() || !weight.is_same) {
    op.refuse("its weights are computed");
  }
  return linear_layer(op, "input", weight.first.toTensor(), weight.label,
                      op.has("bias") ? op.tensor("bias") : "");
}

/// beta self + alpha mat1 mat2, as linear layers have it: both 1.
LayerNames addmm(Operation& op) {
  if (op.real("beta") != 1 || op.real("alpha") != 1) {
    op.refuse("its parts are scaled");
  }
  const Traced& weight = op.at("mat2");
  const std::string bias = op.tensor("self");
  if (weight.is_constant() && weight.is_same) {
    return linear_layer(op, "mat1", weight.first.toTensor().t(), weight.label,
                        bias);
  }
  return op.add("Gemm", {op.tensor("mat1"), op.tensor("mat2"), bias});
}

LayerNames matmul(Operation& op) {
  const char* other = op.has("other") ? "other" : "mat2";
  return op.add("MatMul", {op.tensor("self"), op.tensor(other)});
}

LayerNames batch_norm(Operation& op) {
  if (op.truth("training") || !op.has("running_mean")) {
    op.refuse("it takes the statistics of the batch");
  }
  if (!op.has("weight") || !op.has("bias")) {
    op.refuse("it has no learnt scale and shift");
  }
  return op.add("BatchNormalization",
                {op.tensor("input"), op.tensor("weight"), op.tensor("bias"),
                 op.tensor("running_mean"), op.tensor("running_var")},
                {{"epsilon", op.real("eps")}});
}

/// (x - mean) / sqrt(var + eps) gamma + beta over the last dimensions: one
/// operator has it from version 17 on alone.
LayerNames layer_norm(Operation& op) {
  OnnxBuilder& model = op.model();
  std::vector<int64_t> axes;
  const auto dims =
      static_cast<int64_t>(op.integers("normalized_shape").size());
  for (int64_t i = op.rank() - dims; i < op.rank(); ++i) axes.push_back(i);
  const auto mean_of = [&](const std::string& x) {
    return model.add("ReduceMean", {x},
                     {{"axes", axes}, {"keepdims", int64_t{1}}});
  };
  const std::string x = op.tensor("input");
  const std::string centred = model.add("Sub", {x, mean_of(x)});
  const std::string variance =
      mean_of(model.add("Pow", {centred, model.number(2, op.type())}));
  const std::string deviation = model.add(
      "Sqrt",
      {model.add("Add", {variance, model.number(op.real("eps"), op.type())})});
  std::string y = model.add("Div", {centred, deviation});
  if (op.has("weight")) y = model.add("Mul", {y, op.tensor("weight")});
  if (op.has("bias")) y = model.add("Add", {y, op.tensor("bias")});
  return {y};
}

/// softmax(q k^T / sqrt(d)) v
LayerNames attention(Operation& op) {
  if (op.has("attn_mask") || op.truth("is_causal") ||
      op.real("dropout_p") != 0) {
    op.refuse("it has a mask or dropout");
  }
  const Extents& key = op.at("key").extents;
  const Extent& width = key.back();
  if (op.has("enable_gqa") && op.truth("enable_gqa")) {
    op.refuse("its heads share keys");
  }
  OnnxBuilder& model = op.model();
  const double scale = op.has("scale")
                           ? op.real("scale")
                           : 1 / std::sqrt(static_cast<double>(width.first));
  std::vector<int64_t> order;
  for (size_t i = 0; i < key.size(); ++i) {
    order.push_back(static_cast<int64_t>(i));
  }
  std::swap(order.at(order.size() - 1), order.at(order.size() - 2));
  const std::string query =
      model.add("Mul", {op.tensor("query"), model.number(scale, op.type())});
  const std::string transposed =
      model.add("Transpose", {op.tensor("key")}, {{"perm", order}});
  const std::string weights =
      model.add("Softmax", {model.add("MatMul", {query, transposed})},
                {{"axis", static_cast<int64_t>(key.size()) - 1}});
  return op.add("MatMul", {weights, op.tensor("value")});
}

}  // namespace

Converters layer_converters() {
  return {{"_convolution", convolution},
          {"convolution", convolution},
          {"conv2d", convolution},
          {"max_pool2d", max_pool},
          {"avg_pool2d", average_pool},
          {"adaptive_avg_pool2d", adaptive_average_pool},
          {"linear", linear},
          {"addmm", addmm},
          {"matmul", matmul},
          {"mm", matmul},
          {"bmm", matmul},
          {"batch_norm", batch_norm},
          {"layer_norm", layer_norm},
          {"scaled_dot_product_attention", attention}};
}

}  // namespace kith
