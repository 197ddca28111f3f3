#include <utility>

#include <torch/torch.h>

#include "kith/models/vit_names.h"
#include "kith/models/vit_positions.h"
#include "kith/models/vit_weights.h"

namespace kith {
namespace {

TimmVit timm_class(const VitOptions& options) {
  if (options.positions == "rotary") return TimmVit::kEva;
  const bool distilled = options.registers == 1 && options.prefix_positions;
  return distilled ? TimmVit::kDistilled : TimmVit::kPlain;
}

/// Eva has biases of query, key and value in three tensors, of which that of
/// the key is no weight, and a gated MLP in two layers.
bool is_in_parts(const std::string& name, const VitOptions& options) {
  return name.ends_with("attn.qkv.bias") ||
         (options.mlp == "swiglu" && name.find(".mlp.fc1.") != name.npos);
}

Tensor positions_for(const Tensor& positions, const VitOptions& options,
                     int64_t side) {
  const int64_t prefix = (options.class_token ? 1 : 0) + options.registers;
  const int64_t first = options.prefix_positions ? prefix : 0;
  if (positions.size(1) == first + side * side) return positions;
  return resize_positions(positions, first, side, side, options.interpolation);
}

}  // namespace

void publish_vit_weights(NamedTensors& weights, const VitOptions& options,
                         int64_t side) {
  const TimmVit kind = timm_class(options);
  NamedTensors published;
  for (const auto& [name, tensor] : weights) {
    if (kind == TimmVit::kEva && is_in_parts(name, options)) {
      const std::vector<std::string> parts = vit_parts(name);
      const auto count = static_cast<int64_t>(parts.size());
      const std::vector<Tensor> tensors = tensor.chunk(count);
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].ends_with("attn.k.bias")) continue;
        published.emplace_back(timm_vit_name(parts[i], kind), tensors[i]);
      }
    } else if (name == "pos_embed") {
      published.emplace_back(name, positions_for(tensor, options, side));
    } else if (name == "projection.weight") {
      published.emplace_back("head.weight", tensor);
      published.emplace_back("head.bias", torch::zeros({tensor.size(0)}));
    } else {
      published.emplace_back(timm_vit_name(name, kind), tensor);
    }
  }
  weights = std::move(published);
}

}  // namespace kith
