#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/tensor_io.h"
#include "kith/losses/loss.h"
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
  std::string grad;
  std::string normalize = "auto";
  std::string precision = "auto";
  std::vector<std::string> overrides;
  int64_t seed = 0;
  bool json = false;
  DeviceFlags device;
};

std::unique_ptr<Loss> make_loss(const LossFlags& flags) {
  ConfigNode section = ConfigNode::map();
  for (const std::string& text : flags.overrides) {
    apply_override(section, text);
  }
  section.set("name", ConfigNode::text(flags.name));
  return loss_registry().make(section, "loss", {});
}

Tensor load_tuples(const std::string& path) {
  const Tensor tuples = load_npy(path);
  if (tuples.dim() != 2 ||
      (tuples.scalar_type() != at::kLong && tuples.scalar_type() != at::kInt)) {
    throw DataError(path + ": tuples must be integers [T, 2 or 3]");
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

/// Embeddings and labels were checked as they were read: what is refused here
/// are the tuples or the pairs.
LossOutput compute(const Loss& loss, const LossInput& input,
                   const LossFlags& flags) {
  try {
    return compute_loss(loss, input);
  } catch (const c10::ValueError& error) {
    const std::string file = flags.tuples.empty() ? flags.pairs : flags.tuples;
    throw DataError((file.empty() ? "" : file + ": ") +
                    error.what_without_backtrace());
  }
}

void run_loss(const LossFlags& flags) {
  const c10::Device device = flags.device.apply();
  const std::unique_ptr<Loss> loss = make_loss(flags);
  if (!flags.tuples.empty() && loss->tuple_widths().empty()) {
    throw ConfigError("--tuples: " + flags.name +
                      " uses the whole batch and takes no tuples");
  }
  if (flags.pairs.empty() != flags.alphas.empty()) {
    throw ConfigError("--pairs and --alphas are given together");
  }
  if (!flags.pairs.empty() && !loss->takes_mixed()) {
    throw ConfigError("--pairs: " + flags.name +
                      " takes no virtual examples (SiMix)");
  }
  Tensor raw = load_embeddings(flags.embeddings);
  const Tensor labels = load_labels(flags.labels, raw.size(0));
  if (flags.precision != "auto") {
    raw = raw.to(flags.precision == "float64" ? at::kDouble : at::kFloat);
  }
  raw = raw.to(device).requires_grad_(true);
  const bool normalised = flags.normalize == "true" ||
                          (flags.normalize == "auto" && loss->wants_unit());
  LossInput input;
  input.embeddings = normalised ? normalize_rows(raw) : raw;
  input.labels = labels.to(device);
  if (!flags.tuples.empty()) {
    input.tuples = load_tuples(flags.tuples).to(device);
  }
  if (!flags.pairs.empty()) input.mixed = load_mixed(flags);
  input.seed = static_cast<uint64_t>(flags.seed);
  const LossOutput output = compute(*loss, input, flags);
  output.value.backward();
  const Tensor grad =
      raw.grad().defined() ? raw.grad() : torch::zeros_like(raw);
  if (!flags.grad.empty()) save_npy(flags.grad, grad);

  const double value = output.value.item<double>();
  const double norm = grad.norm().item<double>();
  if (flags.json) {
    nlohmann::ordered_json json = {
        {"name", flags.name},
        {"value", value},
        {"grad_norm", norm},
        {"normalized", normalised},
        {"precision", raw.scalar_type() == at::kDouble ? "float64" : "float32"},
        {"batch", raw.size(0)},
        {"dim", raw.size(1)}};
    for (const auto& [name, number] : output.stats)
      json["stats"][name] = number;
    if (!flags.grad.empty()) json["grad"] = flags.grad;
    print_line(json.dump(2));
    return;
  }
  std::printf("%s = %.9g   (gradient norm %.6g)\n", flags.name.c_str(), value,
              norm);
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
                      "Integer .npy [T, 2] pairs or [T, 3] triplets (anchor, "
                      "positive, negative); without it, all pairs");
  command->add_option("--pairs", flags->pairs,
                      "Integer .npy [V, 2]: SiMix's virtual examples mix these "
                      "positions, of one class each");
  command->add_option("--alphas", flags->alphas,
                      "Float .npy [V]: the share of the first of each pair");
  command
      ->add_option("--seed", flags->seed,
                   "Of alphas that are drawn (--set simix=true)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--set", flags->overrides,
                   "An option of the loss, such as t2=0.1 or k=[1,2]")
      ->allow_extra_args(false);
  command->add_option("--grad", flags->grad,
                      "Writes the gradient with respect to the embeddings as "
                      "given, .npy [M, D]");
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
