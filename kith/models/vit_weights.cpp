#include "kith/models/vit_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <torch/torch.h>

#include "kith/models/adapt_weights.h"
#include "kith/models/vit_names.h"
#include "kith/models/vit_positions.h"
#include "kith/models/vit_shapes.h"

namespace kith {
namespace {

/// Tensors by name, changed in place.
class VitTensors {
 public:
  explicit VitTensors(NamedTensors& all) : all_(all) {
    for (size_t i = 0; i < all.size(); ++i) places_.emplace(all[i].first, i);
  }

  Tensor* find(const std::string& name) {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &all_[found->second].second;
  }

  /// A tensor in place of several, which must be there: at that of the first.
  void replace(const std::vector<std::string>& names, const std::string& name,
               const Tensor& tensor) {
    const size_t place = places_.at(names[0]);
    for (const std::string& old : names) {
      if (places_.at(old) != place) removed_.insert(places_.at(old));
      places_.erase(old);
    }
    all_[place] = {name, tensor};
    places_[name] = place;
  }

  void rename(const std::string& from, const std::string& to) {
    replace({from}, to, *find(from));
  }

  /// Tensors next to each other along their first dimension, in place of the
  /// first; nothing is done unless all are there and fit.
  void join(const std::vector<std::string>& names, const std::string& name) {
    std::vector<Tensor> parts;
    for (const std::string& part : names) {
      const Tensor* tensor = find(part);
      if (tensor == nullptr || tensor->dim() < 1) return;
      if (!parts.empty() && parts[0].sizes() != tensor->sizes()) return;
      parts.push_back(tensor->to(parts.empty() ? tensor->scalar_type()
                                               : parts[0].scalar_type()));
    }
    replace(names, name, torch::cat(parts));
  }

  void add(const std::string& name, const Tensor& tensor) {
    places_[name] = all_.size();
    all_.emplace_back(name, tensor);
  }

  /// Takes out what was joined. The last call.
  void finish() {
    NamedTensors left;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!removed_.contains(i)) left.push_back(std::move(all_[i]));
    }
    all_ = std::move(left);
  }

 private:
  NamedTensors& all_;
  std::map<std::string, size_t> places_;
  std::set<size_t> removed_;
};

bool has_shape(const Tensor* tensor, std::vector<int64_t> shape) {
  return tensor != nullptr && tensor->sizes() == shape;
}

void join_attention(VitTensors& tensors, const std::string& block,
                    const VitOptions& options) {
  const std::string at = block + "attn.";
  const int64_t width = options.width;
  if (tensors.find(at + "q.bias") && tensors.find(at + "v.bias") &&
      !tensors.find(at + "k.bias")) {
    tensors.add(at + "k.bias", torch::zeros_like(*tensors.find(at + "q.bias")));
  }
  for (const std::string kind : {"weight", "bias"}) {
    const std::string joined = at + "qkv." + kind;
    tensors.join(vit_parts(joined), joined);
  }
  if (options.qkv_bias == "none") return;
  Tensor* bias = tensors.find(at + "qkv.bias");
  if (bias == nullptr && tensors.find(at + "qkv.weight")) {
    tensors.add(at + "qkv.bias", torch::zeros({3 * width}));
  } else if (options.qkv_bias == "no_key" && has_shape(bias, {3 * width})) {
    *bias = bias->clone();
    bias->narrow(0, width, width).zero_();
    const std::string mask = at + "qkv.bias_mask";
    if (tensors.find(mask)) {  // it says the same
      tensors.replace({at + "qkv.bias", mask}, at + "qkv.bias", *bias);
    }
  }
}

void join_mlp(VitTensors& tensors, const std::string& block) {
  const std::string at = block + "mlp.fc1";
  for (const std::string kind : {".weight", ".bias"}) {
    tensors.join(vit_parts(at + kind), at + kind);
    // transformers' name of the first layer of a plain MLP as well.
    if (tensors.find(at + "_x" + kind) && !tensors.find(at + "_g" + kind)) {
      tensors.rename(at + "_x" + kind, at + kind);
    }
  }
}

void split_pool(VitTensors& tensors) {
  for (const std::string kind : {"weight", "bias"}) {
    const std::string name = "attn_pool.qkv." + kind;
    const Tensor* all = tensors.find(name);
    if (all == nullptr || all->dim() < 1 || all->size(0) % 3 != 0) continue;
    const int64_t width = all->size(0) / 3;
    const Tensor query = all->narrow(0, 0, width);
    const Tensor others = all->narrow(0, width, 2 * width);
    tensors.replace({name}, "attn_pool.q." + kind, query);
    tensors.add("attn_pool.kv." + kind, others);
  }
}

void adapt_projection(VitTensors& tensors, const VitOptions& options) {
  if (options.token == "joined") {
    for (const std::string name : {"feature.0.weight", "feature.2.weight"}) {
      Tensor* weight = tensors.find(name);
      if (weight && weight->dim() == 2)
        *weight = weight->view({weight->size(0), weight->size(1), 1, 1});
    }
  } else if (options.projection > 0) {
    const Tensor* product = tensors.find("proj");  // CLIP: [width, out]
    if (product != nullptr && product->dim() == 2) {
      tensors.replace({"proj"}, "projection.weight", product->t().contiguous());
    } else if (tensors.find("visual_projection.weight")) {
      tensors.rename("visual_projection.weight", "projection.weight");
    } else if (has_shape(tensors.find("head.weight"),
                         {options.projection, options.width})) {
      tensors.rename("head.weight", "projection.weight");
    }
  }
}

/// Class token and positions with as many dimensions as kith's, and positions
/// for as many tokens.
void adapt_positions(VitTensors& tensors, const VitOptions& options,
                     int64_t side) {
  const int64_t width = options.width;
  Tensor* token = tensors.find("cls_token");
  if (token && token->numel() == width && token->dim() != 3) {
    *token = token->view({1, 1, width});
  }
  Tensor* positions = tensors.find("pos_embed");
  if (positions == nullptr) return;
  if (positions->dim() == 2) *positions = positions->unsqueeze(0);
  if (positions->dim() != 3 || positions->size(0) != 1) return;
  if (positions->size(2) != width || positions->size(1) < 1) return;
  const int64_t prefix = (options.class_token ? 1 : 0) + options.registers;
  const int64_t wanted = options.prefix_positions ? prefix : 0;
  Tensor all = positions->to(torch::kFloat).contiguous();
  if (wanted == 0 && grid_side(all.size(1) - 1) > 0 && options.class_token) {
    if (!has_shape(token, {1, 1, width})) return;
    *token = token->to(torch::kFloat) + all.narrow(1, 0, 1);
    all = all.narrow(1, 1, all.size(1) - 1);
  } else if (wanted > 0 && grid_side(all.size(1)) > 0) {
    all = torch::cat({torch::zeros({1, wanted, width}), all}, 1);
  }
  if (all.size(1) <= wanted || grid_side(all.size(1) - wanted) == 0) return;
  if (all.size(1) == positions->size(1) &&
      all.size(1) == wanted + side * side) {
    return;  // as it is
  }
  *positions = resize_positions(all, wanted, side, side, options.interpolation);
}

}  // namespace

void adapt_vit_weights(NamedTensors& weights, const VitOptions& options,
                       int64_t side, int64_t channels) {
  const std::optional<std::string> prefix = vit_prefix(weights);
  if (!prefix) return;
  NamedTensors adapted = weights;
  for (auto& [name, tensor] : adapted) {
    if (!name.starts_with(*prefix)) continue;
    name = vit_name(name.substr(prefix->size()));
  }
  VitTensors tensors(adapted);
  const int64_t blocks = vit_depth(adapted);
  if (blocks == 0) return;
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string block = "blocks." + std::to_string(i) + ".";
    join_attention(tensors, block, options);
    join_mlp(tensors, block);
  }
  split_pool(tensors);
  adapt_projection(tensors, options);
  adapt_positions(tensors, options, side);
  tensors.finish();
  adapt_channels(adapted, "patch_embed.proj.weight", channels);
  weights = std::move(adapted);
}

std::string nearest_vit(const NamedTensors& weights) {
  const auto find = [&](const char* wanted) -> const Tensor* {
    for (const auto& [name, tensor] : weights) {
      if (name == wanted) return &tensor;
    }
    return nullptr;
  };
  const Tensor* first = find("patch_embed.proj.weight");
  const int64_t depth = vit_depth(weights);
  if (first == nullptr || first->dim() != 4 || depth == 0) return "";
  const int64_t width = first->size(0), patch = first->size(3);
  const Tensor* registers = find("reg_token");
  const int64_t register_count =
      registers && registers->dim() == 3 ? registers->size(1) : 0;
  const auto score = [&](const VitOptions& o) {
    return 8 * (o.width == width) + 8 * (o.depth == depth) +
           8 * (o.patch == patch) + 2 * (o.registers == register_count) +
           2 * (o.class_token == (find("cls_token") != nullptr)) +
           2 * (o.pre_norm == (find("norm_pre.weight") != nullptr)) +
           2 * ((o.layer_scale > 0) ==
                (find("blocks.0.ls1.gamma") != nullptr)) +
           2 * ((o.positions == "learnt") == (find("pos_embed") != nullptr)) +
           2 * ((o.token == "attention_pool") ==
                (find("attn_pool.latent") != nullptr)) +
           2 * ((o.token == "joined") == (find("feature.0.weight") != nullptr));
  };
  const auto& known = vit_shapes();
  const auto best = std::max_element(
      known.begin(), known.end(), [&](const VitShape& a, const VitShape& b) {
        return score(a.options) < score(b.options);
      });
  const VitOptions& o = best->options;
  const bool is_known =
      o.patch == patch && o.width == width && o.depth == depth;
  return (is_known ? best->name : "vit") + " (patch " + std::to_string(patch) +
         ", width " + std::to_string(width) + ", depth " +
         std::to_string(depth) + ")";
}

}  // namespace kith
