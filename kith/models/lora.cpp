#include "kith/models/lora.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <torch/torch.h>

#include "kith/core/name_pattern.h"

namespace kith {
namespace {

namespace nn = torch::nn;

/// The weights of a layer that can be adapted, where it has them; else null.
Tensor* weight_of(nn::Module& module) {
  if (auto* linear = module.as<nn::LinearImpl>()) return &linear->weight;
  auto* conv = module.as<nn::Conv2dImpl>();
  return conv != nullptr && conv->options.groups() == 1 ? &conv->weight
                                                        : nullptr;
}

}  // namespace

void LoraOptions::describe(OptionSet& set) {
  set.add("rank", rank,
          "Rank of the adapters, beside which the backbone stays as it is; 0: "
          "none.")
      .range(0, 1 << 16);
  set.add("alpha", alpha, "Their products count alpha / rank.").positive();
  set.add("targets", targets,
          "Which linear layers and convolutions of the backbone have one: "
          "patterns of their names, such as *.attn.qkv, as in train.freeze.")
      .not_empty();
}

Lora::Lora(const LoraOptions& options, const Backbone& backbone,
           const std::string& prefix) {
  if (!options.is_on()) return;
  scale_ = options.alpha / static_cast<double>(options.rank);
  std::vector<std::string> names;
  std::map<std::string, std::shared_ptr<nn::Module>> modules;
  for (const auto& entry : backbone.named_modules(prefix, false)) {
    if (weight_of(*entry.value()) == nullptr) continue;
    names.push_back(entry.key());
    modules.emplace(entry.key(), entry.value());
  }
  for (const std::string& name : names_that_fit(
           "model.lora.targets", "linear layer or convolution of the backbone",
           options.targets, names)) {
    nn::Module& module = *modules.at(name);
    Tensor* place = weight_of(module);
    const Tensor rows = place->detach().flatten(1);
    // More would make no other W', and take memory without a bound.
    const int64_t rank = std::min({options.rank, rows.size(0), rows.size(1)});
    Tensor a = torch::empty({rank, rows.size(1)}, rows.options());
    nn::init::kaiming_uniform_(a, std::sqrt(5.0));
    const Tensor b = torch::zeros({rows.size(0), rank}, rows.options());
    layers_.push_back({name + ".weight", place, *place,
                       module.register_parameter("lora_a", a),
                       module.register_parameter("lora_b", b)});
  }
}

Tensor Lora::sum_of(const Layer& layer) const {
  return torch::addmm(layer.w.flatten(1), layer.b, layer.a, 1, scale_)
      .view_as(layer.w);
}

Lora::InPlace::InPlace(Lora& lora) : lora_(lora) {
  for (Layer& layer : lora_.layers_) *layer.place = lora_.sum_of(layer);
}

Lora::InPlace::~InPlace() {
  for (Layer& layer : lora_.layers_) *layer.place = layer.w;
}

NamedTensors Lora::merged() const {
  const torch::NoGradGuard no_grad;
  NamedTensors all;
  for (const Layer& layer : layers_)
    all.emplace_back(layer.name, sum_of(layer));
  return all;
}

bool is_of_lora(const std::string& parameter) {
  return parameter.ends_with(".lora_a") || parameter.ends_with(".lora_b");
}

}  // namespace kith
