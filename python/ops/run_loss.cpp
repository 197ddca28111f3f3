// kith::_loss: value and gradients of any loss of kith as a plain function of
// tensors, without autograd around it. Compilers that trace below autograd see
// this operator, and the Meta kernel tells them shapes.
#include "python/ops/run_loss.h"

#include <torch/library.h>
#include <torch/torch.h>

#include "kith/losses/row_loss.h"
#include "kith/losses/unit_embeddings.h"
#include "kith/ops/pairwise.h"
#include "python/ops/nested_autograd.h"

namespace kith::ops {
namespace {

/// c10::optional in LibTorch 1, std::optional in 2.
using MaybeTensor = decltype(std::declval<c10::IValue>().toOptional<Tensor>());
using MaybeBool = decltype(std::declval<c10::IValue>().toOptional<bool>());
using Outputs = std::tuple<Tensor, Tensor, Tensor>;

Tensor or_none(const MaybeTensor& tensor) { return tensor.value_or(Tensor()); }

/// Options come from arguments: no file and line to name in an error.
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
                    "database_labels and self_index need a database");
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

/// Replaces every `old` in a text.
std::string replaced(std::string text, std::string_view old,
                     std::string_view with) {
  for (size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + with.size())) {
    text.replace(at, old.size(), with);
  }
  return text;
}

/// An error's message for those who give arguments and no configuration.
std::string in_python(const std::string& message) {
  return replaced(message, " (sampler.per_class)", "");
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
  try {
    return loss(input).value;
  } catch (const ConfigError& error) {
    TORCH_CHECK_VALUE(false, in_python(error.what()));
  } catch (const c10::ValueError& error) {
    TORCH_CHECK_VALUE(false, in_python(error.what_without_backtrace()));
  }
}

/// An output that is not wanted; operators cannot return "no tensor".
Tensor nothing(const Tensor& like) { return at::empty({0}, like.options()); }

/// The gradient in memory as the Meta kernel says it is.
Tensor settled(const Tensor& gradient, const Tensor& input) {
  return gradient.defined() ? gradient.contiguous()
                            : at::zeros(input.sizes(), input.options());
}

Outputs differentiate(const Loss& loss, LossInput input, bool normalize) {
  const NestedAutograd autograd;
  std::vector<Tensor> leaves;
  const auto make_leaf = [&](Tensor& tensor) {
    tensor = tensor.detach().requires_grad_(true);
    leaves.push_back(tensor);
  };
  make_leaf(input.embeddings);
  if (input.database.defined()) make_leaf(input.database.embeddings);
  const Tensor value = compute_value(loss, input, normalize);
  std::vector<Tensor> gradients(leaves.size());
  if (value.requires_grad()) {
    gradients = torch::autograd::grad({value}, leaves, /*grad_outputs=*/{},
                                      /*retain_graph=*/false,
                                      /*create_graph=*/false,
                                      /*allow_unused=*/true);
  }
  return {
      value.detach(), settled(gradients[0], leaves[0]),
      leaves.size() > 1 ? settled(gradients[1], leaves[1]) : nothing(value)};
}

Outputs run_loss(const std::string& name, const std::string& options,
                 const Tensor& embeddings, const Tensor& labels,
                 const MaybeTensor& database,
                 const MaybeTensor& database_labels,
                 const MaybeTensor& self_index, const MaybeTensor& tuples,
                 const MaybeTensor& pairs, const MaybeTensor& alphas,
                 MaybeBool asked, int64_t seed, bool with_gradient) {
  // Autocast would round products to half precision.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(
      c10::autocast_dispatch_keyset);
  const std::unique_ptr<Loss> loss = make_loss(name, options);
  const bool normalize = asked ? takes_unit(*loss, *asked) : takes_unit(*loss);
  const LossInput input =
      loss_input(embeddings, labels, database, database_labels, self_index,
                 tuples, pairs, alphas, seed);
  TORCH_CHECK_VALUE(embeddings.is_floating_point(),
                    "embeddings must be floating point [M, D], got ",
                    embeddings.scalar_type(), " ", embeddings.sizes());
  if (with_gradient) return differentiate(*loss, input, normalize);
  const at::NoGradGuard no_grad;
  return {compute_value(*loss, input, normalize), nothing(embeddings),
          nothing(embeddings)};
}

/// Shapes alone. Sizes may be symbols, so they are not looked at.
Outputs loss_shapes(const std::string& name, const std::string& options,
                    const Tensor& embeddings, const Tensor& labels,
                    const MaybeTensor& database, const MaybeTensor&,
                    const MaybeTensor&, const MaybeTensor&, const MaybeTensor&,
                    const MaybeTensor&, MaybeBool, int64_t,
                    bool with_gradient) {
  make_loss(name, options);
  TORCH_CHECK_VALUE(embeddings.dim() == 2 && embeddings.is_floating_point(),
                    "embeddings must be floating point [M, D], got ",
                    embeddings.scalar_type(), ", ", embeddings.dim(),
                    " dimensions");
  TORCH_CHECK_VALUE(labels.dim() == 1 && labels.scalar_type() == at::kLong,
                    "labels must be int64 [M], got ", labels.scalar_type(),
                    ", ", labels.dim(), " dimensions");
  const auto gradient = [&](const MaybeTensor& of) {
    return with_gradient && of ? at::empty_like(*of, of->options(),
                                                at::MemoryFormat::Contiguous)
                               : nothing(embeddings);
  };
  return {at::empty({}, embeddings.options()), gradient(embeddings),
          gradient(database)};
}

std::tuple<Tensor, Tensor> simix_pairs(const Tensor& labels, int64_t seed,
                                       int64_t limit) {
  TORCH_CHECK_VALUE(labels.dim() == 1 && labels.scalar_type() == at::kLong,
                    "labels must be int64 [M], got ", labels.scalar_type(), " ",
                    labels.sizes());
  try {
    const MixedPairs mixed =
        random_pairs(labels, static_cast<uint64_t>(seed), limit);
    return {mixed.pairs.to(labels.device()), mixed.alphas.to(labels.device())};
  } catch (const c10::ValueError& error) {
    TORCH_CHECK_VALUE(false, replaced(in_python(error.what_without_backtrace()),
                                      "simix_limit", "limit"));
  }
}

}  // namespace

std::unique_ptr<Loss> make_loss(const std::string& name,
                                const std::string& options) {
  try {
    ConfigNode node = parse_config(options, "options");
    forget_places(node);
    node.set("name", ConfigNode::text(name));
    auto loss = loss_registry().make(node, name, {});
    TORCH_CHECK_VALUE(loss->named_parameters().is_empty(), name,
                      ": with these options it has parameters of its own, "
                      "which an operator cannot learn");
    return loss;
  } catch (const ConfigError& error) {
    TORCH_CHECK_VALUE(false, in_python(error.what()));
  }
}

TORCH_LIBRARY_FRAGMENT(kith, m) {
  m.def((std::string("_loss(str name, str options, ") + kInputs +
         ", bool with_gradient=True) -> (Tensor, Tensor, Tensor)")
            .c_str());
  m.def(("simix_pairs(Tensor labels, int seed, int limit=" +
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
