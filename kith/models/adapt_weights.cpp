#include "kith/models/adapt_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <torch/torch.h>

namespace kith {
namespace {

struct Renaming {
  const char* from;
  const char* to;
};

constexpr Renaming kVitParts[] = {
    {"cls_token", "class_token"},
    {"pos_embed", "encoder.pos_embedding"},
    {"patch_embed.proj.", "conv_proj."},
    {"norm.", "encoder.ln."},
};

/// Within a layer. Both pack the projections in the order query, key, value.
constexpr Renaming kVitLayerParts[] = {
    {"norm1.", "ln_1."},
    {"norm2.", "ln_2."},
    {"attn.qkv.", "self_attention.in_proj_"},
    {"attn.proj.", "self_attention.out_proj."},
    {"mlp.fc1.", "mlp.0."},
    {"mlp.fc2.", "mlp.3."},
    {"mlp.linear_1.", "mlp.0."},
    {"mlp.linear_2.", "mlp.3."},
};

/// Replaces the first of the parts with which the name begins. A part without
/// a dot at its end must be the whole name.
template <size_t Count>
std::string renamed(const std::string& name, const Renaming (&parts)[Count]) {
  for (const auto& [from, to] : parts) {
    const std::string start = from;
    if (start.back() == '.' ? name.starts_with(start) : name == start) {
      return to + name.substr(start.size());
    }
  }
  return name;
}

std::string vit_name(const std::string& name) {
  const std::string ours = "encoder.layers.encoder_layer_";
  for (const std::string& layer : {ours, std::string("blocks.")}) {
    if (!name.starts_with(layer)) continue;
    const size_t dot = name.find('.', layer.size());
    if (dot == std::string::npos) return name;
    const std::string number = name.substr(layer.size(), dot - layer.size());
    return ours + number + "." + renamed(name.substr(dot + 1), kVitLayerParts);
  }
  return renamed(name, kVitParts);
}

/// kith's name; empty if the other is not known.
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

/// The side of a square grid of `patches` patches; 0 if they make no square.
int64_t side_of(int64_t patches) {
  const auto side = static_cast<int64_t>(
      std::lround(std::sqrt(static_cast<double>(patches))));
  return side * side == patches ? side : 0;
}

/// [1, 1 + from from, F] -> [1, 1 + side side, F]
Tensor resized(const Tensor& positions, int64_t from, int64_t side) {
  const Tensor grid = positions.narrow(1, 1, from * from)
                          .view({1, from, from, -1})
                          .permute({0, 3, 1, 2});
  const Tensor larger = torch::upsample_bicubic2d(grid, {side, side}, false)
                            .permute({0, 2, 3, 1})
                            .reshape({1, side * side, -1});
  return torch::cat({positions.narrow(1, 0, 1), larger}, 1);
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

void rename_vit_weights(NamedTensors& weights) {
  for (auto& entry : weights) entry.first = vit_name(entry.first);
}

void rename_caffe_weights(NamedTensors& weights) {
  for (auto& entry : weights) {
    std::replace(entry.first.begin(), entry.first.end(), '/', '_');
  }
}

void resize_positions(NamedTensors& weights, const std::string& name,
                      int64_t side) {
  for (auto& [key, tensor] : weights) {
    if (key != name || tensor.dim() != 3 || tensor.size(0) != 1) continue;
    const int64_t from = side_of(tensor.size(1) - 1);
    if (from < 1 || from == side || tensor.size(2) < 1) continue;
    tensor = resized(tensor.to(torch::kFloat).contiguous(), from, side);
  }
}

}  // namespace kith
