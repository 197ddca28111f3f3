#include "kith/train/parameter_groups.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kith/core/log.h"
#include "kith/core/number_text.h"
#include "kith/core/options.h"

namespace kith {
namespace {

int64_t numbers_in(const NamedTensors& tensors) {
  int64_t count = 0;
  for (const auto& [name, tensor] : tensors) count += tensor.numel();
  return count;
}

/// The number of each parameter's layer, from the input on.
std::vector<int64_t> layer_numbers(
    const std::vector<std::string>& parameters,
    const std::function<std::string(const std::string&)>& layer_of) {
  std::vector<std::string> layers;
  for (const std::string& name : parameters) layers.push_back(layer_of(name));
  if (std::all_of(layers.begin(), layers.end(),
                  [](const std::string& layer) { return layer.empty(); })) {
    layers.clear();  // without numbers, whatever is registered by itself
    for (const std::string& name : parameters) {
      layers.push_back(name.substr(0, name.find('.')));
    }
  }
  std::map<std::string, int64_t> known;
  const int64_t first = !layers.empty() && layers.front().empty() ? 1 : 0;
  std::vector<int64_t> numbers;
  for (const std::string& layer : layers) {
    const int64_t next = first + std::ssize(known);
    numbers.push_back(layer.empty() ? (numbers.empty() ? 0 : numbers.back())
                                    : known.emplace(layer, next).first->second);
  }
  return numbers;
}

void tell_layer_decay(const std::map<std::string, int64_t>& layers,
                      double decay) {
  if (decay == 1 || layers.empty()) return;
  int64_t most = 0, least = std::numeric_limits<int64_t>::max();
  for (const auto& [name, above] : layers) {
    most = std::max(most, above);
    least = std::min(least, above);
  }
  log_info("optimizer.layer_decay: " + std::to_string(most - least + 1) +
           " layers, with " +
           format_general(std::pow(decay, static_cast<double>(most)), 3) +
           " (the first) to " +
           format_general(std::pow(decay, static_cast<double>(least)), 3) +
           " of the learning rate");
}

}  // namespace

std::map<std::string, int64_t> layers_above(EmbeddingNet& net) {
  const std::string prefix = net.has_head() ? "backbone." : "";
  std::map<std::string, int64_t> above;
  std::vector<std::string> names;
  for (const auto& [name, weight] : net.weights()) {
    if (!name.starts_with(prefix)) continue;
    names.push_back(name.substr(prefix.size()));
  }
  const std::vector<int64_t> numbers =
      layer_numbers(names, [&](const std::string& name) {
        return net.has_head() ? net.backbone().layer_of(name)
                              : numbered_layer(name);
      });
  if (numbers.empty()) return above;
  const int64_t last = *std::max_element(numbers.begin(), numbers.end());
  for (size_t i = 0; i < names.size(); ++i) {
    above[prefix + names[i]] = last - numbers[i] + (net.has_head() ? 1 : 0);
  }
  return above;
}

std::vector<std::string> frozen_patterns(const TrainOptions& train,
                                         EmbeddingNet& net) {
  std::vector<std::string> patterns = train.freeze;
  if (train.cached_features == 0 || !net.has_head()) return patterns;
  const HeadOptions& head = net.head().options();
  if (head.dim == 0 && (head.layer_norm == "none" || !head.layer_norm_affine)) {
    throw ConfigError(
        "'train.cached_features' trains the head behind its pooling, which has "
        "no parameters with 'model.head.dim' 0: set that to the size of an "
        "embedding, such as 128");
  }
  patterns.emplace_back("backbone");
  if (head.pooling == "gem") patterns.emplace_back("head.gem_p");
  return patterns;
}

void set_groups(EmbeddingNet& net, const Loss& loss, Optimizer& optimizer) {
  const auto layers = layers_above(net);
  tell_layer_decay(layers, optimizer.groups().layer_decay);
  optimizer.set_layers_above(layers);
  for (const auto& [name, parameter] : loss.named_parameters().pairs()) {
    const double lr = loss.parameter_lr(name);
    if (lr > 0) optimizer.set_lr("loss." + name, lr);
    if (!loss.decays_parameters()) optimizer.spare_from_decay("loss." + name);
  }
}

void tell_trained(const EmbeddingNet& net, const RunConfig& config) {
  std::vector<std::string> why;
  if (!config.train.freeze.empty()) {
    why.push_back("train.freeze: " + join(config.train.freeze));
  }
  if (config.train.cached_features > 0) {
    why.emplace_back("train.cached_features: the head alone trains");
  }
  const LoraOptions& lora = net.options().lora;
  if (lora.is_on()) {
    why.push_back("model.lora: rank " + std::to_string(lora.rank) + " for " +
                  join(lora.targets));
  }
  if (why.empty()) return;
  const NamedTensors all = net.weights();
  NamedTensors trained = all;
  std::erase_if(
      trained, [](const auto& entry) { return !entry.second.requires_grad(); });
  log_info(std::to_string(numbers_in(trained)) + " of " +
           std::to_string(numbers_in(all)) +
           " parameters of the network train; " +
           std::to_string(all.size() - trained.size()) + " of " +
           std::to_string(all.size()) + " tensors stay as they are (" +
           join(why, "; ") + ")");
}

}  // namespace kith
