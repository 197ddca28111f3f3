#include "kith/models/vit_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kith {
namespace {

struct VitRule {
  const char* from;
  const char* to;
};

/// Names by which the first layer is found; what stands before them stands
/// before all tensors of the network.
constexpr const char* kFirstLayers[] = {
    "embeddings.patch_embeddings.projection.weight",
    "embeddings.patch_embeddings.weight",
    "embeddings.patch_embedding.weight",
    "patch_embed.proj.weight",
    "conv_proj.weight",
    "conv1.weight"};

constexpr const char* kBlockStarts[] = {"blocks.",
                                        "encoder.layers.encoder_layer_",
                                        "encoder.layers.",
                                        "encoder.layer.",
                                        "layers.",
                                        "layer.",
                                        "transformer.resblocks."};

constexpr VitRule kVitParts[] = {
    // torchvision
    {"class_token", "cls_token"},
    {"conv_proj.", "patch_embed.proj."},
    {"encoder.pos_embedding", "pos_embed"},
    {"encoder.ln.", "norm."},
    // CLIP
    {"class_embedding", "cls_token"},
    {"conv1.", "patch_embed.proj."},
    {"positional_embedding", "pos_embed"},
    {"ln_pre.", "norm_pre."},
    {"ln_post.", "norm."},
    // transformers
    {"embeddings.cls_token", "cls_token"},
    {"embeddings.class_embedding", "cls_token"},
    {"embeddings.register_tokens", "reg_token"},
    {"embeddings.distillation_token", "reg_token"},
    {"embeddings.position_embeddings", "pos_embed"},
    {"embeddings.position_embedding.weight", "pos_embed"},
    {"embeddings.patch_embeddings.projection.", "patch_embed.proj."},
    {"embeddings.patch_embeddings.", "patch_embed.proj."},
    {"embeddings.patch_embedding.", "patch_embed.proj."},
    {"pre_layrnorm.", "norm_pre."},
    {"post_layernorm.", "norm."},
    {"layernorm.", "norm."},
    {"head.probe", "attn_pool.latent"},
    {"head.attention.in_proj_weight", "attn_pool.qkv.weight"},
    {"head.attention.in_proj_bias", "attn_pool.qkv.bias"},
    {"head.attention.out_proj.", "attn_pool.proj."},
    {"head.layernorm.", "attn_pool.norm."},
    {"head.mlp.fc1.", "attn_pool.mlp.fc1."},
    {"head.mlp.fc2.", "attn_pool.mlp.fc2."},
    // DINOv2, DINOv3
    {"register_tokens", "reg_token"},
    {"storage_tokens", "reg_token"},
};

/// Of timm's DeiT with distillation.
constexpr VitRule kDistilledParts[] = {{"dist_token", "reg_token"}};

/// Within a block.
constexpr VitRule kVitBlockParts[] = {
    // torchvision
    {"ln_1.", "norm1."},
    {"ln_2.", "norm2."},
    {"self_attention.in_proj_weight", "attn.qkv.weight"},
    {"self_attention.in_proj_bias", "attn.qkv.bias"},
    {"self_attention.out_proj.", "attn.proj."},
    {"mlp.0.", "mlp.fc1."},
    {"mlp.3.", "mlp.fc2."},
    {"mlp.linear_1.", "mlp.fc1."},
    {"mlp.linear_2.", "mlp.fc2."},
    // CLIP
    {"attn.in_proj_weight", "attn.qkv.weight"},
    {"attn.in_proj_bias", "attn.qkv.bias"},
    {"attn.out_proj.", "attn.proj."},
    {"mlp.c_fc.", "mlp.fc1."},
    {"mlp.c_proj.", "mlp.fc2."},
    // transformers
    {"layernorm_before.", "norm1."},
    {"layernorm_after.", "norm2."},
    {"layer_norm1.", "norm1."},
    {"layer_norm2.", "norm2."},
    {"attention.attention.query.", "attn.q."},
    {"attention.attention.key.", "attn.k."},
    {"attention.attention.value.", "attn.v."},
    {"attention.output.dense.", "attn.proj."},
    {"attention.q_proj.", "attn.q."},
    {"attention.k_proj.", "attn.k."},
    {"attention.v_proj.", "attn.v."},
    {"attention.o_proj.", "attn.proj."},
    {"self_attn.q_proj.", "attn.q."},
    {"self_attn.k_proj.", "attn.k."},
    {"self_attn.v_proj.", "attn.v."},
    {"self_attn.out_proj.", "attn.proj."},
    {"intermediate.dense.", "mlp.fc1."},
    {"output.dense.", "mlp.fc2."},
    {"layer_scale1.lambda1", "ls1.gamma"},
    {"layer_scale2.lambda1", "ls2.gamma"},
    {"mlp.weights_in.", "mlp.fc1."},
    {"mlp.weights_out.", "mlp.fc2."},
    {"mlp.gate_proj.", "mlp.fc1_g."},
    {"mlp.up_proj.", "mlp.fc1_x."},
    {"mlp.down_proj.", "mlp.fc2."},
    // DINOv2, DINOv3
    {"mlp.w12.", "mlp.fc1."},
    {"mlp.w1.", "mlp.fc1_g."},
    {"mlp.w2.", "mlp.fc1_x."},
    {"mlp.w3.", "mlp.fc2."},
};

/// The same of timm's Eva, which it has for DINOv3.
constexpr VitRule kEvaBlockParts[] = {{"attn.q_bias", "attn.q.bias"},
                                      {"attn.k_bias", "attn.k.bias"},
                                      {"attn.v_bias", "attn.v.bias"},
                                      {"gamma_1", "ls1.gamma"},
                                      {"gamma_2", "ls2.gamma"}};

/// In kith one tensor, in others' files several.
constexpr std::pair<const char*, std::array<const char*, 3>> kVitJoined[] = {
    {"attn.qkv.", {"attn.q.", "attn.k.", "attn.v."}},
    {"mlp.fc1.", {"mlp.fc1_g.", "mlp.fc1_x.", nullptr}}};

/// Replaces the first of the parts with which the name begins. A part without
/// a dot at its end must be the whole name.
template <size_t Count>
std::string with_rule(const std::string& name, const VitRule (&rules)[Count]) {
  for (const auto& [from, to] : rules) {
    const std::string start = from;
    if (start.back() == '.' ? name.starts_with(start) : name == start) {
      return to + name.substr(start.size());
    }
  }
  return name;
}

/// The name that with_rule() replaces by this one; itself if there is none.
template <size_t Count>
std::string without_rule(const std::string& name,
                         const VitRule (&rules)[Count]) {
  for (const auto& [from, to] : rules) {
    if (name == to) return from;
  }
  return name;
}

/// The digits from a place on.
std::string digits_at(const std::string& name, size_t from) {
  const size_t end = name.find_first_not_of("0123456789", from);
  return name.substr(from, end == std::string::npos ? end : end - from);
}

}  // namespace

std::string vit_name(const std::string& name) {
  for (const std::string start : kBlockStarts) {
    if (!name.starts_with(start)) continue;
    std::string number = digits_at(name, start.size());
    size_t end = start.size() + number.size();
    if (number.empty() || end >= name.size() || name[end] != '.') continue;
    // DINOv2 counts parts of the network before it counts blocks.
    const std::string second = digits_at(name, end + 1);
    if (!second.empty() && name.size() > end + 1 + second.size() &&
        name[end + 1 + second.size()] == '.') {
      number = second;
      end += 1 + second.size();
    }
    return "blocks." + number + "." +
           with_rule(with_rule(name.substr(end + 1), kVitBlockParts),
                     kEvaBlockParts);
  }
  return with_rule(with_rule(name, kVitParts), kDistilledParts);
}

std::string timm_vit_name(const std::string& name, TimmVit kind) {
  if (kind == TimmVit::kDistilled) return without_rule(name, kDistilledParts);
  if (kind == TimmVit::kPlain || !name.starts_with("blocks.")) return name;
  const size_t start = name.find('.', std::string("blocks.").size()) + 1;
  return name.substr(0, start) +
         without_rule(name.substr(start), kEvaBlockParts);
}

std::vector<std::string> vit_parts(const std::string& name) {
  for (const auto& [joined, parts] : kVitJoined) {
    const size_t at = name.find(joined);
    if (at == std::string::npos) continue;
    std::vector<std::string> names;
    for (const char* part : parts) {
      if (part == nullptr) break;
      names.push_back(name.substr(0, at) + part +
                      name.substr(at + std::string(joined).size()));
    }
    return names;
  }
  return {};
}

std::optional<std::string> vit_prefix(const NamedTensors& weights) {
  for (const std::string first : kFirstLayers) {
    for (const auto& [name, tensor] : weights) {
      if (!name.ends_with(first)) continue;
      std::string prefix = name.substr(0, name.size() - first.size());
      if (prefix.empty() || prefix.ends_with('.')) return prefix;
    }
  }
  return {};
}

int64_t vit_depth(const NamedTensors& weights) {
  int64_t count = 0;
  for (const auto& [name, tensor] : weights) {
    if (!name.starts_with("blocks.")) continue;
    const std::string number = digits_at(name, 7);
    if (number.empty() || number.size() > 3) continue;
    count = std::max<int64_t>(count, std::stoll(number) + 1);
  }
  return count;
}

}  // namespace kith
