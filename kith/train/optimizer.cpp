#include "kith/train/optimizer.h"

#include <algorithm>
#include <cmath>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/optimizer_kernels.h"
#include "kith/train/one_pass.h"
#include "kith/train/schedule.h"

namespace kith {
namespace {

constexpr const char* kGemPower = "head.gem_p";

/// Options of the part that a parameter belongs to.
struct Part {
  double lr = 1.0;
  double warmup = 0.0;
};

Part part_of(const GroupOptions& options, const std::string& name) {
  if (name.starts_with("backbone.")) {
    return {options.backbone_lr, options.backbone_warmup};
  }
  if (name.starts_with("head.")) {
    const double own = name == kGemPower ? options.gem_lr : 1.0;
    return {options.head_lr * own, options.head_warmup};
  }
  if (name.starts_with("loss.")) return {options.loss_lr, options.loss_warmup};
  return {};
}

/// The norm of all numbers; one launch a few dozens of tensors.
double norm_on_gpu(const std::vector<Tensor>& grads) {
  const TensorLists<1> lists = {grads};
  int64_t pieces = 0;
  for (const Tensor& grad : grads) pieces += GpuSteps::pieces_of(grad.numel());
  const Tensor sums =
      at::empty({pieces}, grads.front().options().dtype(at::kDouble));
  on_gpu(lists, [&](const auto& numbers, void* stream) {
    gpu_steps.squares(numbers, sums.data_ptr<double>(), stream);
  });
  return std::sqrt(sums.sum().item<double>());
}

}  // namespace

void describe_optimizer(OptionSet& set, double& lr, double& weight_decay,
                        GroupOptions& groups) {
  set.add("lr", lr, "Learning rate.").range(0);
  set.add("weight_decay", weight_decay, "Weight decay.").range(0);
  set.add("backbone_lr", groups.backbone_lr,
          "Factor on the learning rate of the backbone.")
      .range(0);
  set.add("head_lr", groups.head_lr, "Factor on the learning rate of the head.")
      .range(0);
  set.add("loss_lr", groups.loss_lr,
          "Factor on the learning rate of the loss's own parameters, which "
          "many losses set themselves (loss.lr).")
      .range(0);
  set.add(
         "gem_lr", groups.gem_lr,
         "Factor on the learning rate of GeM's power, beside that of the head; "
         "10 in the code of Radenovic et al. (2019).")
      .range(0);
  set.add("layer_decay", groups.layer_decay,
          "Each layer of the backbone has this times the learning rate of the "
          "layer above it, the last one of the head's; 1: all the same.")
      .range(0, 1)
      .positive();
  set.add("backbone_warmup", groups.backbone_warmup,
          "The rate of the backbone rises linearly over this many epochs, "
          "counted from when it begins to train, beside the warm-up of the "
          "schedule.")
      .range(0);
  set.add("head_warmup", groups.head_warmup,
          "The same for the head, from the first epoch of all.")
      .range(0);
  set.add("loss_warmup", groups.loss_warmup,
          "The same for the loss's own parameters.")
      .range(0);
  set.add("decay_norms", groups.decay_norms,
          "Weight decay also for parameters of fewer than two dimensions: "
          "norms, biases, the exponent of GeM. What the loss learns itself is "
          "decayed only if loss.decay says so too.");
  set.add("decay_gem", groups.decay_gem,
          "Weight decay also for GeM's power; not in the code of Radenovic et "
          "al. (2019).");
}

std::vector<Tensor> ParameterGroup::of(const std::vector<Tensor>& slot) const {
  std::vector<Tensor> chosen;
  chosen.reserve(indices.size());
  for (size_t index : indices) chosen.push_back(slot[index]);
  return chosen;
}

Optimizer::Optimizer(const OptimizerOptions& options, NamedTensors parameters)
    : options_(options),
      parameters_(std::move(parameters)),
      rules_(make_rules()) {
  std::set<std::string> names;
  for (const auto& [name, parameter] : parameters_) {
    TORCH_CHECK_VALUE(parameter.defined() && parameter.is_leaf(), "'", name,
                      "' is no parameter: a leaf of the graph is needed");
    TORCH_CHECK_VALUE(names.insert(name).second, "two parameters are called '",
                      name, "'");
    steps_.push_back(torch::zeros({1}, torch::kLong));
    state_.emplace_back("steps." + name, steps_.back());
  }
}

void Optimizer::check_name(const std::string& parameter) const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : parameters_) {
    if (name == parameter) return;
    names.push_back(name);
  }
  throw_unknown("", "parameter", parameter, names);
}

void Optimizer::set_lr(const std::string& parameter, double lr) {
  check_name(parameter);
  own_lr_[parameter] = lr;
  rules_ = make_rules();
}

void Optimizer::spare_from_decay(const std::string& parameter) {
  check_name(parameter);
  not_decayed_.insert(parameter);
  rules_ = make_rules();
}

void Optimizer::set_layers_above(std::map<std::string, int64_t> layers) {
  layers_above_ = std::move(layers);
  rules_ = make_rules();
}

double Optimizer::decay_of(const std::string& name,
                           const Tensor& parameter) const {
  const GroupOptions& groups = options_.groups;
  const bool decays = (groups.decay_norms || parameter.dim() >= 2) &&
                      (groups.decay_gem || name != kGemPower);
  return decays && !not_decayed_.contains(name) ? options_.weight_decay : 0.0;
}

/// How a parameter is treated.
Optimizer::Rule Optimizer::rule_of(const std::string& name,
                                   const Tensor& parameter) const {
  const GroupOptions& groups = options_.groups;
  const Part part = part_of(groups, name);
  double factor = part.lr;
  if (groups.layer_decay != 1 && layers_above_) {
    const auto above = layers_above_->find(name);
    if (above != layers_above_->end()) {
      factor *=
          std::pow(groups.layer_decay, static_cast<double>(above->second));
    }
  }
  const auto own = own_lr_.find(name);
  // With lr 0 nothing is trained, whatever its own rate.
  if (own != own_lr_.end() && options_.lr > 0) {
    factor *= own->second / options_.lr;
  }
  return {factor,
          decay_of(name, parameter),
          part.warmup,
          name.starts_with("backbone."),
          {}};
}

std::vector<Optimizer::Rule> Optimizer::make_rules() const {
  std::vector<Rule> rules;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Rule own = rule_of(parameters_[i].first, parameters_[i].second);
    auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& r) {
      return r.lr_factor == own.lr_factor &&
             r.weight_decay == own.weight_decay && r.warmup == own.warmup &&
             (r.warmup == 0 || r.is_backbone == own.is_backbone);
    });
    if (rule == rules.end()) rule = rules.insert(rule, own);
    rule->indices.push_back(i);
  }
  return rules;
}

/// The parameters of a rule that have a gradient, by the number of the step
/// that they take now. There are as many groups as there were moments at which
/// parameters began, usually one.
std::vector<ParameterGroup> Optimizer::count_step(const Rule& rule) {
  std::vector<ParameterGroup> groups;
  for (size_t index : rule.indices) {
    const Tensor& parameter = parameters_[index].second;
    if (!parameter.grad().defined()) continue;
    const int64_t step = ++*steps_[index].data_ptr<int64_t>();
    auto group =
        std::find_if(groups.begin(), groups.end(),
                     [&](const ParameterGroup& g) { return g.step == step; });
    if (group == groups.end()) {
      group = groups.insert(group, ParameterGroup());
      group->step = step;
      group->weight_decay = rule.weight_decay;
    }
    group->indices.push_back(index);
    group->parameters.push_back(parameter);
    // So that a step is one pass over both.
    group->grads.push_back(laid_as(parameter, parameter.grad()));
  }
  return groups;
}

void Optimizer::step(double lr, const StepTime& time) {
  if (options_.groups.layer_decay != 1 && !layers_above_) {
    throw ConfigError(
        "'optimizer.layer_decay' needs to know the layers: give them with "
        "Optimizer::set_layers_above()");
  }
  const torch::NoGradGuard no_grad;
  for (const Rule& rule : rules_) {
    const double rise = warm_up_factor(
        rule.warmup, rule.is_backbone ? time.backbone_epoch : time.epoch);
    for (ParameterGroup& group : count_step(rule)) {
      group.lr = lr * rule.lr_factor * rise;
      update(group);
      // Operations on lists do not count as changes in every LibTorch, and
      // what is made of weights once must be made again.
      for (const Tensor& parameter : group.parameters) {
        parameter.unsafeGetTensorImpl()->bump_version();
      }
    }
  }
}

void Optimizer::zero_grad() {
  for (auto& [name, parameter] : parameters_) parameter.mutable_grad().reset();
}

std::vector<Tensor> Optimizer::make_slot(const std::string& name) {
  std::vector<Tensor> slot;
  for (const auto& [parameter_name, parameter] : parameters_) {
    slot.push_back(torch::zeros_like(parameter.detach()));
    state_.emplace_back(name + "." + parameter_name, slot.back());
  }
  return slot;
}

OptimizerRegistry& optimizer_registry() {
  static OptimizerRegistry registry("optimizer");
  return registry;
}

double clip_gradients(const NamedTensors& parameters, double limit) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> grads;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) grads.push_back(parameter.grad());
  }
  if (grads.empty()) return 0;
  const bool in_one_pass =
      grads.front().is_cuda() && lie_alike(TensorLists<1>{grads});
  const double norm =
      in_one_pass
          ? norm_on_gpu(grads)
          : torch::stack(at::_foreach_norm(grads)).norm().item<double>();
  if (limit > 0 && norm > limit) at::_foreach_mul_(grads, limit / norm);
  return norm;
}

}  // namespace kith
