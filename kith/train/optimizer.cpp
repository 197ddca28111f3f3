#include "kith/train/optimizer.h"

#include <torch/torch.h>

namespace kith {

Optimizer::Optimizer(NamedTensors parameters)
    : parameters_(std::move(parameters)),
      steps_(torch::zeros({1}, torch::kLong)) {}

void Optimizer::step(double lr) {
  const torch::NoGradGuard no_grad;
  steps_ += 1;
  const int64_t t = steps_.item<int64_t>();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& parameter = parameters_[i].second;
    if (parameter.grad().defined()) {
      update(i, parameter, parameter.grad(), lr, t);
    }
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors all = slots_;
  all.emplace_back("steps", steps_);
  return all;
}

void Optimizer::zero_grad() {
  for (auto& [name, parameter] : parameters_) parameter.mutable_grad().reset();
}

std::vector<Tensor> Optimizer::make_slot(const std::string& name) {
  std::vector<Tensor> slot;
  for (const auto& [parameter_name, parameter] : parameters_) {
    slot.push_back(torch::zeros_like(parameter.detach()));
    slots_.emplace_back(name + "." + parameter_name, slot.back());
  }
  return slot;
}

OptimizerRegistry& optimizer_registry() {
  static OptimizerRegistry registry("optimizer");
  return registry;
}

double clip_gradients(const NamedTensors& parameters, double limit) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> squares;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) {
      squares.push_back(parameter.grad().square().sum());
    }
  }
  if (squares.empty()) return 0;
  const double norm = torch::stack(squares).sum().sqrt().item<double>();
  if (limit > 0 && norm > limit) {
    for (const auto& [name, parameter] : parameters) {
      if (parameter.grad().defined()) parameter.grad().mul_(limit / norm);
    }
  }
  return norm;
}

}  // namespace kith
