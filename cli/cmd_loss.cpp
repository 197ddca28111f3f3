#include <cmath>
#include <cstdio>
#include <optional>
#include <tuple>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/losses/unit_embeddings.h"
#include "kith/ops/finite.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

struct LossFlags {
  std::string name;
  std::string embeddings;
  std::string labels;
  std::string tuples;
  std::string pairs;
  std::string alphas;
  std::string params;
  std::string grad;
  std::string param_grads;
  std::string normalize = "auto";
  std::string precision = "auto";
  std::vector<std::string> overrides;
  int64_t seed = 0;
  bool json = false;
  DeviceFlags device;
};

/// Embeddings as they are given, in the wanted precision.
Tensor load_raw(const LossFlags& flags, c10::Device device) {
  Tensor raw = load_embeddings(flags.embeddings);
  if (flags.precision != "auto") {
    raw = raw.to(flags.precision == "float64" ? at::kDouble : at::kFloat);
  }
  return raw.to(device).requires_grad_(true);
}

/// All tensors of --params, in the precision and on the device of embeddings.
NamedTensors load_params(const LossFlags& flags, const Tensor& like) {
  NamedTensors params;
  const SafetensorsFile file(flags.params);
  for (const SafetensorsEntry& entry : file.entries()) {
    const Tensor tensor = to_tensor(file.read(entry.name));
    if (!all_finite(tensor)) {
      throw DataError(flags.params + ": '" + entry.name +
                      "' has a NaN or infinite value");
    }
    params.emplace_back(entry.name,
                        tensor.is_floating_point()
                            ? tensor.to(like.device(), like.scalar_type())
                            : tensor);
  }
  if (params.empty()) throw DataError(flags.params + ": has no tensors");
  return params;
}

/// Without --params the loss draws its parameters for as many classes as there
/// are labels.
std::unique_ptr<Loss> make_loss(const LossFlags& flags, const Tensor& raw,
                                int64_t classes) {
  ConfigNode section = ConfigNode::map();
  for (const std::string& text : flags.overrides) {
    apply_override(section, text, "--set");
  }
  section.set("name", ConfigNode::text(flags.name));
  LossContext context;
  context.classes = classes;
  context.dim = raw.size(1);
  context.seed = static_cast<uint64_t>(flags.seed);
  if (flags.params.empty()) {
    auto loss = loss_registry().make(section, "loss", context);
    loss->to(raw.device());
    return loss;
  }
  context.given = load_params(flags, raw);
  try {
    return loss_registry().make(section, "loss", context);
  } catch (const c10::ValueError& error) {
    throw DataError(flags.params + ": " + error.what_without_backtrace());
  }
}

void check_flags(const LossFlags& flags, const Loss& loss) {
  if (!flags.tuples.empty() && loss.tuple_widths().empty()) {
    throw ConfigError("--tuples: " + flags.name +
                      " uses the whole batch and takes no tuples");
  }
  if (flags.pairs.empty() != flags.alphas.empty()) {
    throw ConfigError("--pairs and --alphas are given together");
  }
  if (!flags.pairs.empty() && !loss.takes_mixed()) {
    throw ConfigError("--pairs: " + flags.name +
                      " takes no virtual examples (SiMix)");
  }
  if (loss.named_parameters().is_empty() &&
      !(flags.params.empty() && flags.param_grads.empty())) {
    throw ConfigError(
        (flags.params.empty() ? "--param-grads: " : "--params: ") + flags.name +
        " has no parameters of its own: leave it out");
  }
}

Tensor load_tuples(const std::string& path) {
  const Tensor tuples = load_npy(path);
  if (tuples.dim() != 2 ||
      (tuples.scalar_type() != at::kLong && tuples.scalar_type() != at::kInt)) {
    throw DataError(path + ": tuples must be integers [T, 2, 3 or 4]");
  }
  return tuples.to(at::kLong);
}

MixedPairs load_mixed(const LossFlags& flags) {
  MixedPairs mixed;
  mixed.pairs = load_npy(flags.pairs);
  if (mixed.pairs.scalar_type() != at::kLong &&
      mixed.pairs.scalar_type() != at::kInt) {
    throw DataError(flags.pairs + ": pairs must be integers [V, 2]");
  }
  mixed.pairs = mixed.pairs.to(at::kLong);
  mixed.alphas = load_npy(flags.alphas);
  return mixed;
}

/// The numbers of classes that a loss with parameters for classes wants.
/// Parameters that were given belong to class numbers; those that were drawn
/// to the labels that occur, in ascending order.
Tensor class_numbers(const Loss& loss, const Tensor& labels,
                     const LossFlags& flags) {
  if (loss.classes() == 0) return labels;
  if (flags.params.empty()) {
    return std::get<1>(torch::_unique(labels, /*sorted=*/true,
                                      /*return_inverse=*/true));
  }
  const int64_t lowest = labels.min().item<int64_t>();
  const int64_t highest = labels.max().item<int64_t>();
  if (lowest >= 0 && highest < loss.classes()) return labels;
  throw DataError(flags.labels + ": labels are " + std::to_string(lowest) +
                  " to " + std::to_string(highest) + ", but " + flags.params +
                  " has parameters for classes 0 to " +
                  std::to_string(loss.classes() - 1));
}

LossInput load_input(const LossFlags& flags, const Loss& loss,
                     const Tensor& embeddings, const Tensor& labels) {
  LossInput input;
  input.embeddings = embeddings;
  input.labels = class_numbers(loss, labels, flags).to(embeddings.device());
  if (!flags.tuples.empty()) {
    input.tuples = load_tuples(flags.tuples).to(embeddings.device());
  }
  if (!flags.pairs.empty()) input.mixed = load_mixed(flags);
  input.seed = static_cast<uint64_t>(flags.seed);
  return input;
}

/// Embeddings and labels were checked as they were read: what is refused here
/// are the tuples or the pairs.
LossOutput compute(const Loss& loss, const LossInput& input,
                   const LossFlags& flags) {
  try {
    return loss(input);
  } catch (const c10::ValueError& error) {
    const std::string file = flags.tuples.empty() ? flags.pairs : flags.tuples;
    const bool lacks_tuples = file.empty() && !loss.tuple_widths().empty();
    throw DataError((file.empty() ? "" : file + ": ") +
                    error.what_without_backtrace() +
                    (lacks_tuples ? ": give --tuples" : ""));
  }
}

Tensor gradient_of(const Tensor& tensor) {
  return tensor.grad().defined() ? tensor.grad() : torch::zeros_like(tensor);
}

/// In double, for the squares of float32 overflow where embeddings are tiny.
double grad_norm(const Tensor& raw) {
  const auto norm = gradient_of(raw).to(at::kDouble).norm().item<double>();
  if (std::isfinite(norm)) return norm;
  throw RunError(
      "the gradient of this loss is not finite: the embeddings are too large "
      "or too small for their type; scale them, or try --precision float64");
}

void save_param_grads(const std::string& path, const Loss& loss) {
  NamedTensors gradients;
  for (const auto& [name, parameter] : loss.named_parameters().pairs()) {
    gradients.emplace_back(name, gradient_of(parameter).cpu().contiguous());
  }
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const auto& [name, gradient] : gradients) {
    views.emplace_back(name, view_of(gradient));
  }
  write_safetensors(path, views);
}

void print_result(const LossFlags& flags, const Loss& loss,
                  const LossOutput& output, const Tensor& raw,
                  bool normalised) {
  nlohmann::ordered_json json = {
      {"name", flags.name},
      {"value", output.value.item<double>()},
      {"grad_norm", grad_norm(raw)},
      {"normalized", normalised},
      {"precision", raw.scalar_type() == at::kDouble ? "float64" : "float32"},
      {"batch", raw.size(0)},
      {"dim", raw.size(1)}};
  if (loss.classes() > 0) json["classes"] = loss.classes();
  for (const auto& [name, number] : output.stats) json["stats"][name] = number;
  if (!flags.grad.empty()) json["grad"] = flags.grad;
  if (!flags.param_grads.empty()) json["param_grads"] = flags.param_grads;
  print_json(json);
}

void run_loss(const LossFlags& flags) {
  const c10::Device device = flags.device.apply();
  const Tensor raw = load_raw(flags, device);
  const Tensor labels = load_labels(flags.labels, raw.size(0));
  const int64_t classes = std::get<0>(torch::_unique(labels)).numel();
  const std::unique_ptr<Loss> loss = make_loss(flags, raw, classes);
  check_flags(flags, *loss);
  std::optional<bool> asked;
  if (flags.normalize != "auto") asked = flags.normalize == "true";
  const bool normalised = takes_unit(*loss, asked);
  const LossInput input =
      load_input(flags, *loss, normalised ? normalize_rows(raw) : raw, labels);
  const LossOutput output = compute(*loss, input, flags);
  output.value.backward();
  if (!flags.grad.empty()) save_npy(flags.grad, gradient_of(raw));
  if (!flags.param_grads.empty()) save_param_grads(flags.param_grads, *loss);
  if (flags.json) {
    print_result(flags, *loss, output, raw, normalised);
    return;
  }
  std::printf("%s = %.9g   (gradient norm %.6g)\n", flags.name.c_str(),
              output.value.item<double>(), grad_norm(raw));
  for (const auto& [name, number] : output.stats) {
    std::printf("  %s: %g\n", name.c_str(), number);
  }
}

}  // namespace

void add_loss(CLI::App& app) {
  auto* command = app.add_subcommand(
      "loss", "Value and gradient of a loss on given embeddings");
  auto flags = std::make_shared<LossFlags>();
  command->add_option("name", flags->name, "A loss; see: kith list losses")
      ->required();
  command->add_option("--embeddings", flags->embeddings, "Float .npy [M, D]")
      ->required();
  command->add_option("--labels", flags->labels, "Integer .npy [M]")
      ->required();
  command->add_option("--tuples", flags->tuples,
                      "Integer .npy [T, 2] pairs, [T, 3] triplets (anchor, "
                      "positive, negative) or [T, 4] (and a second negative); "
                      "without it, the whole batch");
  command->add_option("--pairs", flags->pairs,
                      "Integer .npy [V, 2]: SiMix's virtual examples mix these "
                      "positions, of one class each");
  command->add_option("--alphas", flags->alphas,
                      "Float .npy [V]: the share of the first of each pair");
  command->add_option("--params", flags->params,
                      "Parameters of the loss, .safetensors, such as proxies "
                      "[C, D]; labels are then class numbers 0 to C - 1. "
                      "Without it they are drawn for the labels that occur");
  command
      ->add_option("--seed", flags->seed,
                   "Of alphas that are drawn (--set simix=true), and of "
                   "parameters without --params")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--set", flags->overrides,
                   "An option of the loss, such as t2=0.1 or k=[1,2]")
      ->allow_extra_args(false);
  command->add_option("--grad", flags->grad,
                      "Writes the gradient with respect to the embeddings as "
                      "given, .npy [M, D]");
  command->add_option("--param-grads", flags->param_grads,
                      "Writes the gradients with respect to the loss's "
                      "parameters, .safetensors, named and laid out as in "
                      "--params");
  command
      ->add_option("--normalize", flags->normalize,
                   "Embeddings are made unit vectors first; auto: where the "
                   "loss is defined on them")
      ->check(one_of({"auto", "true", "false"}))
      ->capture_default_str();
  command
      ->add_option("--precision", flags->precision,
                   "Arithmetic; auto: the file's type")
      ->check(one_of({"auto", "float32", "float64"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->device.add_to(*command);
  command->callback([flags] { run_loss(*flags); });
}

}  // namespace kith
