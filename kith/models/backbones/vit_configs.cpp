#include <algorithm>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/models/published_config.h"
#include "kith/models/vit_shapes.h"

namespace kith {
namespace {

/// What all of them have in common, by the names that most of them use.
VitOptions common_vit(const PublishedConfig& config, int64_t patch,
                      const std::string& activation, double eps) {
  VitOptions o;
  const auto square = [&](const char* key, int64_t other) {
    const auto found = config.object().find(key);
    if (found == config.object().end() || !found->is_array()) {
      return config.integer(key, other);
    }
    const std::vector<int64_t> sides = config.integers(key, {});
    if (sides.size() == 2 && sides[0] == sides[1]) return sides[0];
    throw DataError(config.path() + ": '" + key +
                    "' must be one number: kith has square patches and grids");
  };
  o.patch = square("patch_size", patch);
  o.width = config.integer("hidden_size", o.width);
  o.depth = config.integer("num_hidden_layers", o.depth);
  o.heads = config.integer("num_attention_heads", o.heads);
  o.hidden = config.integer("intermediate_size", 4 * o.width);
  o.norm_eps = config.number("layer_norm_eps", eps);
  o.interpolation = "plain";
  if (o.patch < 1) {
    throw DataError(config.path() + ": 'patch_size' must be at least 1");
  }
  o.grid = square("image_size", 224) / o.patch;
  const std::string name = config.text("hidden_act", activation);
  if (name == "gelu") {
    o.activation = "gelu";
  } else if (name == "quick_gelu") {
    o.activation = "quick_gelu";
  } else if (name == "gelu_pytorch_tanh" || name == "gelu_new") {
    o.activation = "gelu_tanh";
  } else if (name != "silu" || !config.truth("use_gated_mlp", false)) {
    throw DataError(config.path() + ": 'hidden_act' is '" + name +
                    "', which kith's vision transformer does not have; it has "
                    "gelu, quick_gelu and gelu_pytorch_tanh");
  }
  return o;
}

/// The name of the known network that has these options, but for what says how
/// it is trained and used; "vit" if there is none.
std::string known_name(VitOptions options) {
  for (const VitShape& shape : vit_shapes()) {
    VitOptions other = shape.options;
    if (other.layer_scale > 0 && options.layer_scale > 0) {
      other.layer_scale = options.layer_scale;
    }
    other.drop_path = options.drop_path;
    other.norm_eps = options.norm_eps;
    other.interpolation = options.interpolation;
    if (other.grid == 0) other.grid = options.grid;
    if (to_yaml(write_options(other)) == to_yaml(write_options(options))) {
      return shape.name;
    }
  }
  return "vit";
}

/// The `model.backbone` section. DataError if the options are none of a
/// network.
ConfigNode vit_section(const PublishedConfig& config,
                       const VitOptions& options) {
  try {
    checked(options, "config.json");
  } catch (const ConfigError& error) {
    throw DataError(config.path() + ": " + error.what());
  }
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text(known_name(options)));
  merge_config(section, write_options(options));
  return section;
}

/// For what kith always has, or never.
void require_truth(const PublishedConfig& config, const char* key, bool usual) {
  if (config.truth(key, usual) == usual) return;
  throw DataError(config.path() + ": '" + key + "' is " +
                  (usual ? "false" : "true") +
                  ", which kith's vision transformer does not have");
}

ConfigNode read_vit(const PublishedConfig& config) {
  VitOptions o = common_vit(config, 16, "gelu", 1e-12);
  o.qkv_bias = config.truth("qkv_bias", true) ? "all" : "none";
  return vit_section(config, o);
}

/// Always with the distillation token.
ConfigNode read_deit(const PublishedConfig& config) {
  VitOptions o = common_vit(config, 16, "gelu", 1e-12);
  o.qkv_bias = config.truth("qkv_bias", true) ? "all" : "none";
  o.registers = 1;
  return vit_section(config, o);
}

VitOptions dinov2_options(const PublishedConfig& config, int64_t patch) {
  VitOptions o = common_vit(config, patch, "gelu", 1e-6);
  o.qkv_bias = config.truth("qkv_bias", true) ? "all" : "none";
  o.layer_scale = config.number("layerscale_value", 1.0);
  constexpr double kMost = 1e6;  // fits an int64_t; describe() has the range
  o.hidden = static_cast<int64_t>(
      std::clamp(static_cast<double>(o.width) * config.number("mlp_ratio", 4),
                 0.0, kMost));
  if (config.truth("use_swiglu_ffn", false)) {
    o.mlp = "swiglu";
    // Of 2/3 the size, rounded up to a multiple of 8.
    o.hidden = (2 * o.hidden / 3 + 7) / 8 * 8;
  }
  o.drop_path = config.number("drop_path_rate", 0);
  return o;
}

ConfigNode read_dinov2(const PublishedConfig& config) {
  return vit_section(config, dinov2_options(config, 14));
}

ConfigNode read_dinov2_registers(const PublishedConfig& config) {
  VitOptions o = dinov2_options(config, 16);
  o.registers = config.integer("num_register_tokens", 4);
  o.prefix_positions = false;
  o.interpolation = "antialias";
  return vit_section(config, o);
}

ConfigNode read_dinov3(const PublishedConfig& config) {
  VitOptions o = common_vit(config, 16, "gelu", 1e-5);
  o.width = config.integer("hidden_size", 384);
  o.heads = config.integer("num_attention_heads", 6);
  o.hidden = config.integer("intermediate_size", 1536);
  o.grid = 0;
  o.interpolation = "antialias";  // of nothing
  o.positions = "rotary";
  o.rotary_base = config.number("rope_theta", 100);
  o.registers = config.integer("num_register_tokens", 0);
  o.layer_scale = config.number("layerscale_value", 1.0);
  o.drop_path = config.number("drop_path_rate", 0);
  if (config.truth("use_gated_mlp", false)) {
    o.mlp = "swiglu";
    const std::string gate = config.text("hidden_act", "gelu");
    if (gate != "silu") {
      throw DataError(config.path() + ": 'hidden_act' is '" + gate +
                      "' of a gated MLP, for which kith has silu");
    }
  }
  const bool query = config.truth("query_bias", true);
  const bool key = config.truth("key_bias", false);
  if (config.truth("value_bias", true) != query || (key && !query)) {
    throw DataError(config.path() +
                    ": 'query_bias' and 'value_bias' must be the same, and "
                    "true with 'key_bias'");
  }
  o.qkv_bias = key ? "all" : query ? "no_key" : "none";
  require_truth(config, "proj_bias", true);
  require_truth(config, "mlp_bias", true);
  return vit_section(config, o);
}

/// Of a file that has the network alone, without CLIP's projection.
bool is_vision_alone(const PublishedConfig& config) {
  const auto names = config.object().find("architectures");
  return names != config.object().end() && names->is_array() &&
         names->size() == 1 && (*names)[0] == "CLIPVisionModel";
}

ConfigNode read_clip(const PublishedConfig& config) {
  VitOptions o = common_vit(config, 32, "quick_gelu", 1e-5);
  o.hidden = config.integer("intermediate_size", 3072);
  o.pre_norm = true;
  if (!is_vision_alone(config)) {
    o.projection = config.integer("projection_dim", 512);
  }
  return vit_section(config, o);
}

ConfigNode read_siglip(const PublishedConfig& config) {
  VitOptions o = common_vit(config, 16, "gelu_pytorch_tanh", 1e-6);
  o.hidden = config.integer("intermediate_size", 3072);
  o.class_token = false;
  if (config.truth("vision_use_head", true)) o.token = "attention_pool";
  return vit_section(config, o);
}

[[maybe_unused]] const bool vit_configs_added =
    add_published_reader("vit", read_vit) &&
    add_published_reader("deit", read_deit) &&
    add_published_reader("dinov2", read_dinov2) &&
    add_published_reader("dinov2_with_registers", read_dinov2_registers) &&
    add_published_reader("dinov3_vit", read_dinov3) &&
    add_published_reader("clip_vision_model", read_clip) &&
    add_published_reader("siglip_vision_model", read_siglip);

}  // namespace
}  // namespace kith
