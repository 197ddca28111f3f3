// kith::_loss: value and gradients of any loss of kith as a plain function of
// tensors, without autograd around it. Compilers that trace below autograd see
// this operator, and the Meta kernel tells them shapes.
#include "python/ops/run_loss.h"

#include <optional>
#include <sstream>

#include <torch/library.h>
#include <torch/torch.h>

#include "kith/losses/row_loss.h"
#include "kith/losses/unit_embeddings.h"
#include "kith/ops/pairwise.h"
#include "python/ops/errors.h"
#include "python/ops/nested_autograd.h"

namespace kith::ops {
namespace {

/// c10::optional in LibTorch 1, std::optional in 2.
using MaybeTensor = decltype(std::declval<c10::IValue>().toOptional<Tensor>());
using MaybeBool = decltype(std::declval<c10::IValue>().toOptional<bool>());
/// The value, and then, if they are wanted, the gradients of the embeddings, of
/// the database if there is one, and of the parameters. One list, which every
/// compiler knows how to take apart.
using Outputs = std::vector<Tensor>;

Tensor or_none(const MaybeTensor& tensor) { return tensor.value_or(Tensor()); }

void forget_places(ConfigNode& node) {
  node.where.clear();
  for (ConfigNode& item : node.items) forget_places(item);
  for (auto& [key, value] : node.entries) forget_places(value);
}

LossInput loss_input(const Tensor& embeddings, const Tensor& labels,
                     const MaybeTensor& database,
                     const MaybeTensor& database_labels,
                     const MaybeTensor& self_index, const MaybeTensor& tuples,
                     const MaybeTensor& pairs, const MaybeTensor& alphas,
                     int64_t seed) {
  TORCH_CHECK_VALUE(database || !(database_labels || self_index),
                    "ref_labels and self_index need ref_emb, a database");
  TORCH_CHECK_VALUE(pairs.has_value() == alphas.has_value(),
                    "pairs and alphas belong together");
  LossInput input;
  input.embeddings = embeddings;
  input.labels = labels;
  input.database = {or_none(database), or_none(database_labels),
                    or_none(self_index)};
  input.tuples = or_none(tuples);
  input.mixed = {or_none(pairs), or_none(alphas)};
  input.seed = static_cast<uint64_t>(seed);
  return input;
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string name; std::getline(words, name, ',');) {
    names.push_back(name);
  }
  return names;
}

/// Parameters as the loss takes them: it computes with their values, apart
/// from the graph that they are in.
LossContext loss_context(const std::vector<std::string>& names,
                         at::TensorList parameters, const Tensor& embeddings) {
  TORCH_CHECK_VALUE(names.size() == parameters.size(), names.size(),
                    " names of parameters for ", parameters.size(), " tensors");
  LossContext context;
  for (size_t i = 0; i < names.size(); ++i) {
    TORCH_CHECK_VALUE(parameters[i].device() == embeddings.device(),
                      "the loss's parameter '", names[i], "' is on ",
                      parameters[i].device(), ", but the embeddings are on ",
                      embeddings.device(),
                      ": move the loss there by its to(device)");
    context.given.emplace_back(names[i], parameters[i].detach());
  }
  return context;
}

Tensor compute_value(const Loss& loss, LossInput input, bool normalize) {
  if (normalize) {
    TORCH_CHECK_VALUE(input.embeddings.dim() == 2,
                      "embeddings must be floating point [M, D], got ",
                      input.embeddings.sizes());
    input.embeddings = normalize_rows(input.embeddings);
    Tensor& database = input.database.embeddings;
    if (database.defined() && database.dim() == 2) {
      database = normalize_rows(database);
    }
  }
  return for_python([&] { return loss(input).value; });
}

/// The gradient in memory as the Meta kernel says it is.
Tensor settled(const Tensor& gradient, const Tensor& input) {
  return gradient.defined() ? gradient.contiguous()
                            : at::zeros(input.sizes(), input.options());
}

Outputs differentiate(const Loss& loss, LossInput input, bool normalize,
                      const std::vector<std::string>& names) {
  std::vector<Tensor> leaves;
  const auto make_leaf = [&](Tensor& tensor) {
    tensor = tensor.detach().requires_grad_(true);
    leaves.push_back(tensor);
  };
  make_leaf(input.embeddings);
  if (input.database.defined()) make_leaf(input.database.embeddings);
  const auto own = loss.named_parameters();
  for (const std::string& name : names) leaves.push_back(own[name]);
  const Tensor value = compute_value(loss, input, normalize);
  std::vector<Tensor> gradients(leaves.size());
  if (value.requires_grad()) {
    gradients = torch::autograd::grad({value}, leaves, /*grad_outputs=*/{},
                                      /*retain_graph=*/false,
                                      /*create_graph=*/false,
                                      /*allow_unused=*/true);
  }
  Outputs outputs = {value.detach()};
  for (size_t i = 0; i < leaves.size(); ++i) {
    outputs.push_back(settled(gradients[i], leaves[i]));
  }
  return outputs;
}

Outputs run_loss(const std::string& name, const std::string& options,
                 const std::string& parameter_names, at::TensorList parameters,
                 const Tensor& embeddings, const Tensor& labels,
                 const MaybeTensor& database,
                 const MaybeTensor& database_labels,
                 const MaybeTensor& self_index, const MaybeTensor& tuples,
                 const MaybeTensor& pairs, const MaybeTensor& alphas,
                 MaybeBool asked, int64_t seed, bool with_gradient) {
  // Autocast would round products to half precision.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(
      c10::autocast_dispatch_keyset);
  std::optional<NestedAutograd> autograd;
  if (with_gradient) autograd.emplace();
  const at::AutoGradMode mode(with_gradient);
  const std::vector<std::string> names = split_names(parameter_names);
  const std::unique_ptr<Loss> loss =
      make_loss(name, options, loss_context(names, parameters, embeddings));
  const bool normalize = asked ? takes_unit(*loss, *asked) : takes_unit(*loss);
  const LossInput input =
      loss_input(embeddings, labels, database, database_labels, self_index,
                 tuples, pairs, alphas, seed);
  TORCH_CHECK_VALUE(embeddings.is_floating_point(),
                    "embeddings must be floating point [M, D], got ",
                    embeddings.scalar_type(), " ", embeddings.sizes());
  if (with_gradient) return differentiate(*loss, input, normalize, names);
  return {compute_value(*loss, input, normalize)};
}

/// Shapes alone. Sizes may be symbols, so they are not looked at.
Outputs loss_shapes(const std::string&, const std::string&, const std::string&,
                    at::TensorList parameters, const Tensor& embeddings,
                    const Tensor& labels, const MaybeTensor& database,
                    const MaybeTensor&, const MaybeTensor&, const MaybeTensor&,
                    const MaybeTensor&, const MaybeTensor&, MaybeBool, int64_t,
                    bool with_gradient) {
  TORCH_CHECK_VALUE(embeddings.dim() == 2 && embeddings.is_floating_point(),
                    "embeddings must be floating point [M, D], got ",
                    embeddings.scalar_type(), ", ", embeddings.dim(),
                    " dimensions");
  TORCH_CHECK_VALUE(labels.dim() == 1 && labels.scalar_type() == at::kLong,
                    "labels must be int64 [M], got ", labels.scalar_type(),
                    ", ", labels.dim(), " dimensions");
  Outputs outputs = {at::empty({}, embeddings.options())};
  if (!with_gradient) return outputs;
  std::vector<Tensor> inputs = {embeddings};
  if (database) inputs.push_back(*database);
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  for (const Tensor& input : inputs) {
    outputs.push_back(
        at::empty_like(input, input.options(), at::MemoryFormat::Contiguous));
  }
  return outputs;
}

std::tuple<Tensor, Tensor> simix_pairs(const Tensor& labels, int64_t seed,
                                       int64_t simix_limit) {
  TORCH_CHECK_VALUE(labels.dim() == 1 && labels.scalar_type() == at::kLong,
                    "labels must be int64 [M], got ", labels.scalar_type(), " ",
                    labels.sizes());
  return for_python([&]() -> std::tuple<Tensor, Tensor> {
    const MixedPairs mixed =
        random_pairs(labels, static_cast<uint64_t>(seed), simix_limit);
    return {mixed.pairs.to(labels.device()), mixed.alphas.to(labels.device())};
  });
}

}  // namespace

ConfigNode part_options(const std::string& name, const std::string& options) {
  ConfigNode node = parse_config(options, "options");
  forget_places(node);
  node.set("name", ConfigNode::text(name));
  return node;
}

std::unique_ptr<Loss> make_loss(const std::string& name,
                                const std::string& options,
                                const LossContext& context) {
  return for_python([&] {
    return loss_registry().make(part_options(name, options), name, context);
  });
}

TORCH_LIBRARY_FRAGMENT(kith, m) {
  m.def((std::string("_loss(") + kArguments +
         ", bool with_gradient=True) -> Tensor[]")
            .c_str());
  m.def(("simix_pairs(Tensor labels, int seed, int simix_limit=" +
         std::to_string(MixedRowOptions().simix_limit) +
         ") -> (Tensor, Tensor)")
            .c_str());
}

TORCH_LIBRARY_IMPL(kith, CPU, m) {
  m.impl("_loss", run_loss);
  m.impl("simix_pairs", simix_pairs);
}

TORCH_LIBRARY_IMPL(kith, CUDA, m) {
  m.impl("_loss", run_loss);
  m.impl("simix_pairs", simix_pairs);
}

TORCH_LIBRARY_IMPL(kith, Meta, m) { m.impl("_loss", loss_shapes); }

}  // namespace kith::ops
