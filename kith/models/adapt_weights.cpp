#include "kith/models/adapt_weights.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

/// What `names` makes of a tensor's name; empty if it is not known.
std::string known_name(const std::string& name, const OtherNames& names) {
  if (const auto whole = names.find(name); whole != names.end()) {
    return whole->second;
  }
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return "";
  const auto module = names.find(name.substr(0, dot));
  return module == names.end() ? "" : module->second + name.substr(dot);
}

/// Without dimensions of size 1.
std::vector<int64_t> other_than_one(at::IntArrayRef shape) {
  std::vector<int64_t> sizes = shape.vec();
  sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
  return sizes;
}

}  // namespace

void adapt_channels(NamedTensors& weights, const std::string& name,
                    int64_t channels) {
  for (auto& [key, tensor] : weights) {
    if (key != name || channels != 1) continue;
    if (tensor.dim() != 4 || tensor.size(1) != 3) continue;
    tensor = tensor.to(torch::kFloat).sum(1, true);
  }
}

void rename_tensors(NamedTensors& weights, const OtherNames& names,
                    const std::vector<std::string>& prefixes) {
  for (auto& entry : weights) {
    std::string ours = known_name(entry.first, names);
    for (const std::string& prefix : prefixes) {
      if (!ours.empty() || !entry.first.starts_with(prefix)) continue;
      ours = known_name(entry.first.substr(prefix.size()), names);
    }
    if (!ours.empty()) entry.first = std::move(ours);
  }
}

void rename_back(NamedTensors& weights, const OtherNames& names) {
  OtherNames back;
  for (const auto& [theirs, ours] : names) {
    KITH_ASSERT(back.emplace(ours, theirs).second);
  }
  for (auto& entry : weights) {
    entry.first = known_name(entry.first, back);
    KITH_ASSERT(!entry.first.empty());
  }
}

void fit_unit_dimensions(NamedTensors& weights, const torch::nn::Module& net) {
  const auto parameters = net.named_parameters();
  for (auto& [name, tensor] : weights) {
    const Tensor* target = parameters.find(name);
    if (target == nullptr || target->sizes() == tensor.sizes()) continue;
    if (other_than_one(target->sizes()) == other_than_one(tensor.sizes())) {
      tensor = tensor.reshape(target->sizes());
    }
  }
}

void rename_caffe_weights(NamedTensors& weights) {
  for (auto& entry : weights) {
    std::replace(entry.first.begin(), entry.first.end(), '/', '_');
  }
}

}  // namespace kith
