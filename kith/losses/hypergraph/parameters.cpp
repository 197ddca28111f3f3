#include "kith/losses/hypergraph/parameters.h"

#include <algorithm>
#include <cmath>

#include <torch/torch.h>

#include "kith/core/rng.h"
#include "kith/losses/class_vectors.h"

namespace kith {
namespace {

enum class Start { kHeNormal, kUniform, kOne, kZero };

struct Shape {
  std::string name;
  std::vector<int64_t> sizes;
  Start start;
  int64_t fan = 1;  ///< Rows (He-normal), or inputs of the layer (uniform).
};

std::vector<Shape> shapes_of(const HistSizes& n, bool means, bool log_vars) {
  std::vector<Shape> all = {
      {"theta1_weight", {n.hidden, n.dim}, Start::kUniform, n.dim},
      {"theta1_bias", {n.hidden}, Start::kUniform, n.dim},
      {"bn1_weight", {n.hidden}, Start::kOne},
      {"bn1_bias", {n.hidden}, Start::kZero},
      {"theta2_weight", {n.classes, n.hidden}, Start::kUniform, n.hidden},
      {"theta2_bias", {n.classes}, Start::kUniform, n.hidden}};
  const std::vector<int64_t> table = {n.classes, n.dim};
  if (means) all.push_back({"means", table, Start::kHeNormal, n.classes});
  if (log_vars) all.push_back({"log_vars", table, Start::kHeNormal, n.classes});
  return all;
}

/// He-normal with fan_out is N(0, 2 / rows); uniform in +- 1 / sqrt(inputs).
Tensor first_value(const Shape& shape, uint64_t seed) {
  const auto generator = torch::make_generator<at::CPUGeneratorImpl>(seed);
  const auto fan = static_cast<double>(std::max<int64_t>(shape.fan, 1));
  switch (shape.start) {
    case Start::kHeNormal:
      return torch::randn(shape.sizes, generator) * std::sqrt(2 / fan);
    case Start::kUniform:
      return (torch::rand(shape.sizes, generator) * 2 - 1) / std::sqrt(fan);
    case Start::kOne:
      return torch::ones(shape.sizes);
    case Start::kZero:
      break;
  }
  return torch::zeros(shape.sizes);
}

/// Classes, dimensions and hidden units as two matrices of the given ones say.
HistSizes sizes_of(const NamedTensors& given) {
  const Tensor first = find_tensor(given, "theta1_weight");
  const Tensor second = find_tensor(given, "theta2_weight");
  TORCH_CHECK_VALUE(first.defined() && first.dim() == 2 && second.defined() &&
                        second.dim() == 2,
                    "hist: parameters that are given need 'theta1_weight' "
                    "[hidden, dim] and 'theta2_weight' [classes, hidden]");
  return {second.size(0), first.size(1), first.size(0)};
}

HistSizes sizes_of(const LossContext& context, int64_t hidden) {
  if (context.given.empty()) return {context.classes, context.dim, hidden};
  const HistSizes sizes = sizes_of(context.given);
  TORCH_CHECK_VALUE(context.dim == 0 || context.dim == sizes.dim,
                    "hist: 'theta1_weight' is for ", sizes.dim,
                    " dimensions, but embeddings have ", context.dim);
  return sizes;
}

Tensor taken(const NamedTensors& given, const Shape& shape) {
  const Tensor value = find_tensor(given, shape.name);
  TORCH_CHECK_VALUE(value.defined(), "hist: the parameter '", shape.name,
                    "' is missing: give all or none");
  TORCH_CHECK_VALUE(value.sizes() == shape.sizes, "hist: '", shape.name,
                    "' must be ", at::IntArrayRef(shape.sizes), ", got ",
                    value.sizes());
  return value.detach().clone();
}

}  // namespace

HistParameters make_hist_parameters(const LossContext& context, int64_t hidden,
                                    bool means, bool log_vars) {
  HistParameters made;
  made.sizes = sizes_of(context, hidden);
  TORCH_CHECK_VALUE(made.sizes.classes > 0 && made.sizes.dim > 0,
                    "hist has parameters for each class and needs to know how "
                    "many classes there are and the size of an embedding "
                    "(LossContext::classes and dim)");
  const bool draw = context.given.empty();
  Rng rng(context.seed, Stream::kLossInit);
  std::vector<std::string> names;
  for (const Shape& shape : shapes_of(made.sizes, means, log_vars)) {
    made.tensors.emplace_back(shape.name, draw ? first_value(shape, rng.next())
                                               : taken(context.given, shape));
    names.push_back(shape.name);
  }
  check_given(context, names);
  return made;
}

Tensor find_tensor(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  return {};
}

}  // namespace kith
