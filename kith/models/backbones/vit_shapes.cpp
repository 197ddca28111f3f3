#include "kith/models/vit_shapes.h"

#include <utility>

#include "kith/models/published_config.h"
#include "kith/models/published_name.h"

namespace kith {
namespace {

using Names = std::vector<std::string>;

const PretrainedInput kImagenetInput = {
    .size = 224, .filter = "bicubic", .pooling = "class_token"};

/// torchvision and timm resize in different ways.
const PretrainedInput kSupervisedInput = {.size = 224,
                                          .pooling = "class_token"};

PretrainedInput clip_input(int64_t size) {
  return {.mean = {0.48145466, 0.4578275, 0.40821073},
          .std = {0.26862954, 0.26130258, 0.27577711},
          .size = size,
          .filter = "bicubic",
          .pooling = "class_token"};
}

PretrainedInput siglip_input(int64_t size) {
  return {.mean = {0.5, 0.5, 0.5},
          .std = {0.5, 0.5, 0.5},
          .size = size,
          .filter = "bicubic",
          .pooling = "class_token"};
}

/// Width, depth, heads and hidden features of the usual sizes.
VitOptions sized(const std::string& size, int64_t patch) {
  VitOptions o{.patch = patch};
  const auto set = [&](int64_t width, int64_t depth, int64_t heads) {
    o.width = width;
    o.depth = depth;
    o.heads = heads;
    o.hidden = 4 * width;
  };
  if (size == "tiny") set(192, 12, 3);
  if (size == "small") set(384, 12, 6);
  if (size == "medium") set(512, 12, 8);
  if (size == "base") set(768, 12, 12);
  if (size == "large") set(1024, 24, 16);
  if (size == "huge") set(1280, 32, 16);
  return o;
}

std::string summary_of(const std::string& of, const VitOptions& o) {
  return of + ": vision transformer, patches of " + std::to_string(o.patch) +
         " pixels, " +
         std::to_string(o.projection > 0 ? o.projection : o.width) +
         " features";
}

/// Trained with classes: torchvision, timm's augreg, DeiT. Positions are those
/// of model.input.size, whatever a file has.
void add_supervised(std::vector<VitShape>& all) {
  const auto add = [&](const char* name, const char* size, int64_t patch,
                       const Names& aliases) {
    const VitOptions o = sized(size, patch);
    all.push_back({name, summary_of("ViT", o), o, aliases, kSupervisedInput});
  };
  add("vit_ti_16", "tiny", 16,
      {"vit_tiny_patch16_224", "vit_tiny_patch16_384",
       "deit_tiny_patch16_224"});
  add("vit_s_16", "small", 16,
      {"vit_small_patch16_224", "vit_small_patch16_384",
       "deit_small_patch16_224"});
  add("vit_s_32", "small", 32,
      {"vit_small_patch32_224", "vit_small_patch32_384"});
  add("vit_b_8", "base", 8, {"vit_base_patch8_224"});
  add("vit_b_16", "base", 16,
      {"vit_base_patch16_224", "vit_base_patch16_384", "deit_base_patch16_224",
       "deit_base_patch16_384"});
  add("vit_b_32", "base", 32, {"vit_base_patch32_224", "vit_base_patch32_384"});
  add("vit_l_14", "large", 14, {"vit_large_patch14_224"});
  add("vit_l_16", "large", 16,
      {"vit_large_patch16_224", "vit_large_patch16_384"});
  add("vit_l_32", "large", 32,
      {"vit_large_patch32_224", "vit_large_patch32_384"});
  add("vit_h_14", "huge", 14, {"vit_huge_patch14_224"});
}

void add_deit(std::vector<VitShape>& all) {
  const auto add = [&](const char* name, const VitOptions& o,
                       const Names& aliases) {
    all.push_back(
        {name, summary_of(o.registers > 0 ? "DeiT, distilled" : "DeiT III", o),
         o, aliases, kImagenetInput});
  };
  const auto distilled = [&](const char* size) {
    VitOptions o = sized(size, 16);
    o.registers = 1;
    return o;
  };
  const auto third = [&](const char* size, int64_t patch) {
    VitOptions o = sized(size, patch);
    o.layer_scale = 1e-6;
    o.prefix_positions = false;
    return o;
  };
  add("deit_ti_16_distilled", distilled("tiny"),
      {"deit_tiny_distilled_patch16_224"});
  add("deit_s_16_distilled", distilled("small"),
      {"deit_small_distilled_patch16_224"});
  add("deit_b_16_distilled", distilled("base"),
      {"deit_base_distilled_patch16_224", "deit_base_distilled_patch16_384"});
  add("deit3_s_16", third("small", 16),
      {"deit3_small_patch16_224", "deit3_small_patch16_384"});
  add("deit3_m_16", third("medium", 16), {"deit3_medium_patch16_224"});
  add("deit3_b_16", third("base", 16),
      {"deit3_base_patch16_224", "deit3_base_patch16_384"});
  add("deit3_l_16", third("large", 16),
      {"deit3_large_patch16_224", "deit3_large_patch16_384"});
  add("deit3_h_14", third("huge", 14), {"deit3_huge_patch14_224"});
}

/// Option `key` has another value in timm's network of this name.
void timm_has(const std::string& name, const char* key, const char* value) {
  ConfigNode other = ConfigNode::map();
  other.set(key, ConfigNode::text(value));
  add_timm_difference(name, std::move(other));
}

void add_dino(std::vector<VitShape>& all) {
  const auto add = [&](const char* name, const char* size, int64_t patch,
                       const char* timm) {
    VitOptions o = sized(size, patch);
    o.grid = 224 / patch;
    o.interpolation = "offset";
    timm_has(name, "interpolation", "antialias");
    all.push_back({name, summary_of("DINO", o), o, {timm}, kImagenetInput});
  };
  add("dino_vits16", "small", 16, "vit_small_patch16_224.dino");
  add("dino_vits8", "small", 8, "vit_small_patch8_224.dino");
  add("dino_vitb16", "base", 16, "vit_base_patch16_224.dino");
  add("dino_vitb8", "base", 8, "vit_base_patch8_224.dino");
}

void add_dinov2(std::vector<VitShape>& all) {
  const auto add = [&](const std::string& name, VitOptions o,
                       const std::string& size) {
    constexpr int64_t kSide = 518;
    o.grid = kSide / o.patch;
    o.layer_scale = 1e-5;
    o.interpolation = "offset";
    timm_has(name, "interpolation", "antialias");
    all.push_back({name,
                   summary_of("DINOv2", o),
                   o,
                   {"vit_" + size + "_patch14_dinov2"},
                   kImagenetInput});
    o.registers = 4;
    o.prefix_positions = false;
    o.interpolation = "antialias";
    all.push_back({name + "_reg",
                   summary_of("DINOv2 with registers", o),
                   o,
                   {"vit_" + size + "_patch14_reg4_dinov2"},
                   kImagenetInput});
  };
  add("dinov2_vits14", sized("small", 14), "small");
  add("dinov2_vitb14", sized("base", 14), "base");
  add("dinov2_vitl14", sized("large", 14), "large");
  VitOptions giant{.patch = 14,
                   .width = 1536,
                   .depth = 40,
                   .heads = 24,
                   .hidden = 4096,
                   .mlp = "swiglu"};
  add("dinov2_vitg14", giant, "giant");
}

void add_dinov3(std::vector<VitShape>& all) {
  const auto add = [&](const char* name, VitOptions o, const Names& aliases) {
    o.norm_eps = 1e-5;
    o.layer_scale = 1e-5;
    o.registers = 4;
    o.positions = "rotary";
    all.push_back({name, summary_of("DINOv3", o), o, aliases, kImagenetInput});
  };
  const auto shape = [&](const char* size, bool gated) {
    VitOptions o = sized(size, 16);
    o.qkv_bias = "no_key";
    if (gated) o.mlp = "swiglu";
    return o;
  };
  add("dinov3_vits16", shape("small", false),
      {"vit_small_patch16_dinov3", "vit_small_patch16_dinov3_qkvb"});
  add("dinov3_vits16plus", shape("small", true),
      {"vit_small_plus_patch16_dinov3", "vit_small_plus_patch16_dinov3_qkvb"});
  add("dinov3_vitb16", shape("base", false),
      {"vit_base_patch16_dinov3", "vit_base_patch16_dinov3_qkvb"});
  add("dinov3_vitl16", shape("large", false),
      {"vit_large_patch16_dinov3", "vit_large_patch16_dinov3_qkvb"});
  VitOptions huge = shape("huge", true);
  huge.heads = 20;
  add("dinov3_vith16plus", huge,
      {"vit_huge_plus_patch16_dinov3", "vit_huge_plus_patch16_dinov3_qkvb"});
  VitOptions largest{.width = 4096,
                     .depth = 40,
                     .heads = 32,
                     .hidden = 8192,
                     .mlp = "swiglu",
                     .qkv_bias = "none"};
  add("dinov3_vit7b16", largest, {"vit_7b_patch16_dinov3"});
}

/// OpenAI's networks, and those of OpenCLIP, which have another activation.
void add_clip(std::vector<VitShape>& all) {
  const auto add = [&](const std::string& name, const char* size, int64_t patch,
                       int64_t side, int64_t projection,
                       const std::string& timm) {
    VitOptions o = sized(size, patch);
    o.activation = "quick_gelu";
    o.norm_eps = 1e-5;
    o.pre_norm = true;
    o.grid = side / patch;
    o.projection = projection;
    const std::string start = "vit_" + timm + "_clip_";
    const std::string pixels = std::to_string(side);
    all.push_back({"clip_" + name,
                   summary_of("CLIP", o),
                   o,
                   {start + "quickgelu_" + pixels},
                   clip_input(side)});
    o.activation = "gelu";
    all.push_back({"openclip_" + name,
                   summary_of("OpenCLIP", o),
                   o,
                   {start + pixels},
                   clip_input(side)});
  };
  add("vit_b_32", "base", 32, 224, 512, "base_patch32");
  add("vit_b_16", "base", 16, 224, 512, "base_patch16");
  add("vit_l_14", "large", 14, 224, 768, "large_patch14");
  add("vit_l_14_336", "large", 14, 336, 768, "large_patch14");
  add("vit_h_14", "huge", 14, 224, 1024, "huge_patch14");
}

void add_siglip(std::vector<VitShape>& all) {
  const auto add = [&](const std::string& name, VitOptions o, int64_t side,
                       const std::string& timm) {
    o.activation = "gelu_tanh";
    o.class_token = false;
    o.grid = side / o.patch;
    o.token = "attention_pool";
    const std::string pixels = std::to_string(side);
    timm_has("siglip_" + name + "_" + pixels, "activation", "gelu");
    all.push_back({"siglip_" + name + "_" + pixels,
                   summary_of("SigLIP", o),
                   o,
                   {"vit_" + timm + "_siglip_" + pixels},
                   siglip_input(side)});
  };
  for (const int64_t side : {224, 256, 384, 512}) {
    add("vit_b_16", sized("base", 16), side, "base_patch16");
  }
  for (const int64_t side : {256, 384}) {
    add("vit_l_16", sized("large", 16), side, "large_patch16");
  }
  const VitOptions optimal{
      .patch = 14, .width = 1152, .depth = 27, .heads = 16, .hidden = 4304};
  for (const int64_t side : {224, 378}) {
    add("so400m_14", optimal, side, "so400m_patch14");
  }
}

void add_unicom(std::vector<VitShape>& all) {
  const auto add = [&](const char* name, const char* size, int64_t patch,
                       int64_t side, int64_t projection) {
    VitOptions o = sized(size, patch);
    o.activation = "relu6";
    o.qkv_bias = "none";
    o.norm_eps = 1e-5;
    o.class_token = false;
    o.grid = side / patch;
    o.token = "joined";
    o.projection = projection;
    all.push_back({name, summary_of("Unicom", o), o, {}, clip_input(side)});
  };
  add("unicom_vit_b_32", "base", 32, 224, 512);
  add("unicom_vit_b_16", "base", 16, 224, 768);
  add("unicom_vit_l_14", "large", 14, 224, 768);
  add("unicom_vit_l_14_336", "large", 14, 336, 768);
}

/// timm's name of a network, its first alias; that of DINOv3 is the one with
/// biases, if it has any. Empty: timm does not have it.
std::string timm_name(const VitShape& shape) {
  std::string name;
  for (const std::string& alias : shape.aliases) {
    if (name.empty() || alias.ends_with("_qkvb")) name = alias;
  }
  return name;
}

bool register_shapes() {
  for (const VitShape& shape : vit_shapes()) {
    backbone_registry().add_shape<VisionTransformer>(
        shape.name, shape.summary, shape.options, shape.aliases);
    add_pretrained_input(shape.name, shape.input);
    const std::string name = timm_name(shape);
    if (!name.empty()) {
      add_published_name({"timm", name, "patch_embed.proj", "head"});
    }
  }
  return true;
}

[[maybe_unused]] const bool vit_shapes_added = register_shapes();

}  // namespace

const std::vector<VitShape>& vit_shapes() {
  static const std::vector<VitShape> all = [] {
    std::vector<VitShape> shapes;
    add_supervised(shapes);
    add_deit(shapes);
    add_dino(shapes);
    add_dinov2(shapes);
    add_dinov3(shapes);
    add_clip(shapes);
    add_siglip(shapes);
    add_unicom(shapes);
    return shapes;
  }();
  return all;
}

}  // namespace kith
