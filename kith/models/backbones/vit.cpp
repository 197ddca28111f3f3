#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/models/drop_path.h"
#include "kith/models/token_stream.h"
#include "kith/models/vision_transformer.h"
#include "kith/models/vit_block.h"
#include "kith/models/vit_names.h"
#include "kith/models/vit_shapes.h"
#include "kith/models/vit_weights.h"

namespace kith {
namespace {

namespace nn = torch::nn;

constexpr double kFeatureEps = 2e-5;

void refuse(bool wrong, const std::string& message) {
  if (wrong) throw ConfigError(message);
}

/// What the ranges of single options do not say.
void check_together(const VitOptions& o) {
  refuse(o.width % o.heads != 0, "'vit.heads' must divide 'vit.width' (" +
                                     std::to_string(o.width) + "), got " +
                                     std::to_string(o.heads));
  refuse(o.positions == "rotary" && o.width / o.heads % 4 != 0,
         "'vit.positions' is rotary, which needs heads of a multiple of 4 "
         "features, but 'vit.width' / 'vit.heads' is " +
             std::to_string(o.width / o.heads));
  refuse(o.token == "attention_pool" && o.projection > 0,
         "'vit.projection' is for the class token: set it to 0, or 'vit.token' "
         "to class");
  refuse(o.token == "joined" && (o.projection == 0 || o.class_token ||
                                 o.registers > 0 || o.positions == "rotary"),
         "'vit.token' is joined, which needs 'vit.projection', the size of "
         "the features, and learnt positions without class token and "
         "registers");
}

void start_patches(nn::Conv2dImpl& patches) {
  const auto fan_in = static_cast<double>(patches.weight[0].numel());
  nn::init::normal_(patches.weight, 0, std::sqrt(1 / fan_in));
  if (patches.bias.defined()) nn::init::zeros_(patches.bias);
}

int64_t features_of(const VitOptions& options) {
  return options.projection > 0 ? options.projection : options.width;
}

/// Which of mix_points() lie behind a block.
std::vector<int64_t> mixed_after(size_t block, size_t blocks) {
  std::vector<int64_t> points;
  if (block + 1 == blocks / 4) points.push_back(1);
  if (block + 1 == blocks / 2) points.push_back(2);
  return points;
}

void describe_blocks(VitOptions& o, OptionSet& set) {
  set.add("mlp", o.mlp, "plain: linear, activation, linear; swiglu: gated.")
      .choices({"plain", "swiglu"});
  set.add("activation", o.activation, "Of the plain MLP.")
      .choices({"gelu", "gelu_tanh", "quick_gelu", "relu6"});
  set.add("qkv_bias", o.qkv_bias,
          "Biases of query, key and value: all, none, or no_key: those of "
          "query and value (DINOv3).")
      .choices({"all", "none", "no_key"});
  set.add("layer_scale", o.layer_scale,
          "Start value of LayerScale, a learnt factor for each feature that a "
          "block adds; 0: none.")
      .range(0, 1e6);
  set.add("norm_eps", o.norm_eps, "Epsilon of every LayerNorm.").positive();
  set.add("pre_norm", o.pre_norm,
          "LayerNorm before the first block, and patches without bias (CLIP).");
}

void describe_tokens(VitOptions& o, OptionSet& set) {
  set.add("class_token", o.class_token, "A token beside those of the patches.");
  set.add("registers", o.registers,
          "Register tokens, which are in no output; 1 is also DeiT's "
          "distillation token.")
      .range(0, 256);
  set.add("positions", o.positions,
          "Of patches: learnt for each, or rotary (DINOv3).")
      .choices({"learnt", "rotary"});
  set.add("prefix_positions", o.prefix_positions,
          "Class token and registers have learnt positions too.");
  set.add("grid", o.grid,
          "Patches in a row of the learnt positions; others are interpolated. "
          "0: those of model.input.size.")
      .range(0, 1024);
  set.add("interpolation", o.interpolation,
          "Bicubic, of learnt positions: with antialias (timm, DINOv2 with "
          "registers), plain (Hugging Face), or with the offset of 0.1 of "
          "DINO and DINOv2.")
      .choices({"antialias", "plain", "offset"});
  set.add("rotary_base", o.rotary_base, "Of the periods of rotary positions.")
      .positive();
  set.add("token", o.token,
          "What head.pooling: class_token takes: the class token, attention "
          "pooling of the patches (SigLIP), or a projection of all patches "
          "joined, which is the map too (Unicom).")
      .choices({"class", "attention_pool", "joined"});
  set.add("projection", o.projection,
          "Features after CLIP's linear projection, or Unicom's; 0: none.")
      .range(0, 65536);
}

}  // namespace

void VitOptions::describe(OptionSet& set) {
  set.add("patch", patch, "Pictures are cut into patch x patch pixels.")
      .range(1, 64);
  set.add("width", width, "Features of a token.").range(1, 8192);
  set.add("depth", depth, "Blocks.").range(1, 256);
  set.add("heads", heads, "Of the attention; they share the width.")
      .range(1, 256);
  set.add("hidden", hidden, "Features within the MLP of a block.")
      .range(1, 65536);
  describe_blocks(*this, set);
  describe_tokens(*this, set);
  set.add("dropout", dropout,
          "Part of the activations that training sets to zero.")
      .range(0, 0.99);
  set.add("drop_path", drop_path,
          "Part of the pictures that skip the last block in training; blocks "
          "before it have less, the first none.")
      .range(0, 0.99);
}

VisionTransformer::VisionTransformer(Options options,
                                     const BackboneInput& input)
    : options_(checked(std::move(options), "vit")),
      channels_(input.channels),
      side_(options_.grid > 0 ? options_.grid : input.size / options_.patch),
      features_(features_of(options_)) {
  check_together(options_);
  refuse(options_.grid == 0 && options_.positions == "learnt" &&
             (side_ < 1 || input.size % options_.patch != 0),
         "'model.input.size' must be a multiple of the " +
             std::to_string(options_.patch) +
             " pixels of a patch of this backbone, got " +
             std::to_string(input.size));
  patches_ =
      register_module("patch_embed", std::make_shared<nn::Module>())
          ->register_module(
              "proj", nn::Conv2d(nn::Conv2dOptions(channels_, options_.width,
                                                   options_.patch)
                                     .stride(options_.patch)
                                     .bias(!options_.pre_norm)));
  start_patches(*patches_);
  add_tokens();
  const auto blocks = register_module("blocks", std::make_shared<nn::Module>());
  for (int64_t i = 0; i < options_.depth; ++i) {
    const double rate = drop_path_rate(options_.drop_path, i, options_.depth);
    blocks_.push_back(blocks->register_module(
        std::to_string(i), std::make_shared<VitBlock>(options_, rate)));
  }
  norm_ = register_module("norm", vit_norm(options_));
  add_output(input.batch_norm);
}

VisionTransformer::~VisionTransformer() = default;

int64_t VisionTransformer::prefix() const {
  return (options_.class_token ? 1 : 0) + options_.registers;
}

void VisionTransformer::add_tokens() {
  const int64_t width = options_.width;
  if (options_.class_token) {
    class_token_ = register_parameter("cls_token", torch::zeros({1, 1, width}));
  }
  if (options_.registers > 0) {
    registers_ = register_parameter(
        "reg_token", torch::randn({1, options_.registers, width}) * 0.02);
  }
  if (options_.positions == "learnt") {
    const int64_t first = options_.prefix_positions ? prefix() : 0;
    positions_ = register_parameter(
        "pos_embed", torch::randn({1, first + side_ * side_, width}) * 0.02);
  }
  dropout_ = register_module("dropout", nn::Dropout(options_.dropout));
  if (options_.pre_norm) {
    pre_norm_ = register_module("norm_pre", vit_norm(options_));
  }
}

void VisionTransformer::add_output(const std::string& batch_norm) {
  const int64_t width = options_.width;
  if (options_.token == "attention_pool") {
    pool_ = register_module("attn_pool",
                            std::make_shared<VitAttentionPool>(options_));
  } else if (options_.token == "joined") {
    const auto feature =
        register_module("feature", std::make_shared<nn::Module>());
    ConvShape shape{.in = side_ * side_ * width,
                    .out = width,
                    .kernel = 1,
                    .eps = kFeatureEps};
    feature_.emplace_back(*feature, "0", "1", shape, batch_norm);
    shape.in = width;
    shape.out = options_.projection;
    feature_.emplace_back(*feature, "2", "3", shape, batch_norm);
  } else if (options_.projection > 0) {
    projection_ = register_module(
        "projection", vit_linear(width, options_.projection, false));
  }
}

bool VisionTransformer::has_token() const {
  return options_.token != "class" || options_.class_token;
}

std::string VisionTransformer::fixed_size() const {
  return options_.token == "joined"
             ? "a vision transformer that projects all patches together"
             : "";
}

Tensor VisionTransformer::tokens_of(const Tensor& images, int64_t rows,
                                    int64_t columns) {
  const int64_t count = images.size(0);
  const Tensor patches = patches_(images).flatten(2).transpose(1, 2);
  std::vector<Tensor> tokens;
  for (const Tensor& token : {class_token_, registers_}) {
    if (token.defined()) tokens.push_back(token.expand({count, -1, -1}));
  }
  Tensor x = patches;
  if (positions_.defined()) {
    const bool all = options_.prefix_positions && !tokens.empty();
    const Tensor positions = resize_positions(
        positions_, all ? prefix() : 0, rows, columns, options_.interpolation);
    tokens.push_back(all ? patches : patches + positions);
    x = all ? torch::cat(tokens, 1) + positions : torch::cat(tokens, 1);
  } else {
    tokens.push_back(patches);
    x = torch::cat(tokens, 1);
  }
  x = dropout_(x);
  return pre_norm_ ? pre_norm_(x) : x;
}

Features VisionTransformer::run(const Tensor& images, const Mixing& mixing) {
  const int64_t patch = options_.patch;
  const int64_t height = images.size(2), across = images.size(3);
  TORCH_CHECK_VALUE(height >= patch && across >= patch && height % patch == 0 &&
                        across % patch == 0,
                    "[vit] the sides of pictures must be multiples of ", patch,
                    ", got ", images.sizes());
  TORCH_CHECK_VALUE(
      feature_.empty() || (height == side_ * patch && across == side_ * patch),
      "[vit] pictures must be ", side_ * patch, " x ", side_ * patch, ", got ",
      images.sizes());
  const int64_t rows = height / patch, columns = across / patch;
  RotaryAngles rotary;
  if (!positions_.defined()) {
    rotary = {rows, columns, options_.width / options_.heads,
              options_.rotary_base, norm_->weight.options()};
  }
  const Tensor x = tokens_of(images, rows, columns);  // [N, T, width]
  auto type = stream_type(x);
  if (const std::string bar = bar_to_stream(); type && !bar.empty()) {
    std::call_once(told_, [&] {
      log_info("the transformer is computed layer by layer, which is slower: " +
               bar);
    });
    type.reset();
  }
  return output_of(
      type ? stream({x, {}, *type}, rotary, mixing) : layers(x, rotary, mixing),
      rows, columns);
}

/// Why kernels do not know these widths, or what happens between products;
/// empty if they do.
std::string VisionTransformer::bar_to_stream() const {
  if (is_training() && options_.dropout > 0) {
    return "'model.backbone.dropout' is between the products that fused "
           "kernels join";
  }
  for (const auto& [name, width] : {std::pair("width", options_.width),
                                    std::pair("hidden", options_.hidden)}) {
    if (width % 8 == 0) continue;
    return std::string("'model.backbone.") + name + "', " +
           std::to_string(width) +
           ", is no multiple of 8, as fused kernels want it";
  }
  return "";
}

/// The blocks and the norm behind them, layer by layer.
Tensor VisionTransformer::layers(Tensor x, const RotaryAngles& rotary,
                                 const Mixing& mixing) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i]->forward(x, rotary);
    for (const int64_t point : mixed_after(i, blocks_.size())) {
      x = mixing(point, x);
    }
  }
  return norm_(x);
}

Tensor VisionTransformer::stream(TokenStream tokens, const RotaryAngles& rotary,
                                 const Mixing& mixing) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i]->forward(tokens, rotary);
    for (const int64_t point : mixed_after(i, blocks_.size())) {
      if (mixing.point != point) continue;
      tokens.settle();
      tokens.x = mixing(point, tokens.x);
    }
  }
  return tokens.norm(*norm_, tokens.x.scalar_type());
}

Features VisionTransformer::output_of(const Tensor& tokens, int64_t rows,
                                      int64_t columns) {
  const Tensor patches = tokens.narrow(1, prefix(), rows * columns);
  if (!feature_.empty()) return joined(patches);
  const auto projected = [&](const Tensor& x) {
    return projection_ ? projection_(x) : x;
  };
  Features features;
  features.map =
      projected(patches).transpose(1, 2).unflatten(2, {rows, columns});
  if (pool_) {
    features.token = pool_->forward(patches);
  } else if (options_.class_token) {
    features.token = projected(tokens.select(1, 0));
  }
  return features;
}

Features VisionTransformer::joined(const Tensor& patches) {
  Tensor x = patches.flatten(1).unsqueeze(2).unsqueeze(3);
  for (ConvNorm& layer : feature_) x = layer(x);
  return {x, x.flatten(1)};
}

void VisionTransformer::adapt_weights(NamedTensors& weights) const {
  adapt_vit_weights(weights, options_, side_, channels_);
}

void VisionTransformer::publish_weights(NamedTensors& weights,
                                        int64_t size) const {
  publish_vit_weights(weights, options_, size / options_.patch);
}

std::string VisionTransformer::present_name(const std::string& stored) const {
  return vit_name(stored);
}

std::string VisionTransformer::network_of(const NamedTensors& weights) const {
  return nearest_vit(weights);
}

KITH_REGISTER(backbone_registry(), "vit", VisionTransformer);

}  // namespace kith
