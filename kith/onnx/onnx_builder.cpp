#include "kith/onnx/onnx_builder.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/core/number_text.h"

namespace kith {
namespace {

/// Beyond this float16 has infinity.
constexpr double kLargestHalf = 65504;

bool fits_half(const Tensor& value) {
  return value.abs().max().item<double>() <= kLargestHalf;
}

}  // namespace

std::string OnnxBuilder::unique(const std::string& name) {
  std::string free = name;
  for (int64_t i = 1; !names_.insert(free).second; ++i) {
    free = name + "_" + std::to_string(i);
  }
  return free;
}

std::string OnnxBuilder::add(const std::string& type,
                             std::vector<std::string> inputs,
                             OnnxAttributes attributes) {
  const std::string name = unique(type + "_" + std::to_string(counts_[type]++));
  model_.nodes.push_back(
      {type, name, std::move(inputs), {name}, std::move(attributes)});
  return name;
}

std::string OnnxBuilder::stored(const std::string& name, const Tensor& value) {
  model_.constants.push_back({unique(name), value});
  return model_.constants.back().name;
}

std::string OnnxBuilder::constant(const std::string& name,
                                  const Tensor& value) {
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(
      value.numel() == 0 ? nullptr : value.data_ptr()));
  for (const auto& list : {value.sizes(), value.strides()}) {
    for (const int64_t i : list) key += " " + std::to_string(i);
    key += ",";
  }
  key += at::toString(value.scalar_type());
  std::string& made = made_[key];
  if (!made.empty()) return made;
  const bool is_weight =
      value.dim() > 1 && value.numel() > 0 && value.scalar_type() == at::kFloat;
  if (!half_weights_ || !is_weight) return made = stored(name, value);
  if (!fits_half(value)) {
    too_large_for_half_.push_back(name);
    return made = stored(name, value);
  }
  // The memory of `value` must stay, for another would have its address.
  held_.push_back(value);
  return made = cast(stored(name, value.to(at::kHalf)), at::kFloat);
}

std::string OnnxBuilder::number(double value, at::ScalarType type) {
  std::string& made =
      made_[format_general(value, 17) + " " + std::string(at::toString(type))];
  if (made.empty()) {
    made = stored("number", torch::tensor(value, torch::kDouble).to(type));
  }
  return made;
}

std::string OnnxBuilder::integers(const std::vector<int64_t>& values) {
  std::string key = "integers";
  for (const int64_t i : values) key += " " + std::to_string(i);
  std::string& made = made_[key];
  if (made.empty()) made = stored("integers", torch::tensor(values, at::kLong));
  return made;
}

std::string OnnxBuilder::batch() {
  if (batch_.empty()) {
    batch_ = add("Gather", {add("Shape", {model_.input.name}), integers({0})},
                 {{"axis", int64_t{0}}});
  }
  return batch_;
}

void OnnxBuilder::name_output(const std::string& value) {
  for (OnnxNode& node : model_.nodes) {
    for (auto* names : {&node.inputs, &node.outputs}) {
      std::replace(names->begin(), names->end(), value, model_.output.name);
    }
  }
}

std::string OnnxBuilder::cast(const std::string& value, at::ScalarType to) {
  return add("Cast", {value}, {{"to", onnx_type(to)}});
}

}  // namespace kith
