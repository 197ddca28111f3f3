#include "kith/models/convnext.h"

#include <algorithm>
#include <string>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/adapt_weights.h"
#include "kith/models/conv_parts.h"
#include "kith/models/drop_path.h"
#include "kith/models/nearest_shape.h"
#include "kith/models/published_config.h"
#include "kith/models/published_name.h"

namespace kith {

namespace nn = torch::nn;

void ConvnextOptions::describe(OptionSet& set) {
  set.add("depths", depths, "Blocks of each stage.").range(1, 200).not_empty();
  set.add("widths", widths, "Channels of each stage.")
      .range(1, 8192)
      .not_empty();
  set.add("patch", patch,
          "The first layer cuts pictures into patch x patch pixels.")
      .range(1, 64);
  set.add("layer_scale", layer_scale,
          "What the learnt scale of each block starts from; 0: none.")
      .range(0, 1e3);
  set.add("response_norm", response_norm,
          "Blocks normalise the response of each channel (ConvNeXt V2).");
  set.add("eps", eps, "Of LayerNorm.").positive();
  set.add("last_eps", last_eps, "Of the last LayerNorm.").positive();
  set.add("norm_map", norm_map,
          "The last LayerNorm holds for every position of the map too.");
  set.add("drop_path", drop_path,
          "Part of the pictures for which training leaves out the last block; "
          "it rises evenly from 0 at the first.")
      .range(0, 0.99);
}

namespace {

ConvnextOptions checked_convnext(ConvnextOptions options,
                                 const BackboneInput& input) {
  options = checked(std::move(options), "convnext");
  check_stages("convnext", options.depths, {{"widths", &options.widths}});
  const int64_t least = options.patch << (options.depths.size() - 1);
  if (input.size < least) {
    throw ConfigError("'model.input.size' must be at least " +
                      std::to_string(least) + " for this ConvNeXt, got " +
                      std::to_string(input.size));
  }
  return options;
}

nn::Conv2d convnext_conv(nn::Module& owner, const std::string& name,
                         const nn::Conv2dOptions& options) {
  const auto conv = owner.register_module(name, nn::Conv2d(options));
  nn::init::normal_(conv->weight, 0, 0.02);
  nn::init::zeros_(conv->bias);
  return conv;
}

nn::LayerNorm convnext_norm(nn::Module& owner, const std::string& name,
                            int64_t width, double eps) {
  return owner.register_module(
      name, nn::LayerNorm(nn::LayerNormOptions({width}).eps(eps)));
}

nn::Linear convnext_linear(nn::Module& owner, const std::string& name,
                           int64_t in, int64_t out) {
  const auto linear = owner.register_module(name, nn::Linear(in, out));
  nn::init::normal_(linear->weight, 0, 0.02);
  nn::init::zeros_(linear->bias);
  return linear;
}

/// LayerNorm over the channels of [N, C, H, W]. No copy where the memory has
/// the channels last, as it does in all of the network.
Tensor norm_channels(nn::LayerNorm& norm, const Tensor& x) {
  return norm(x.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
}

}  // namespace

/// A 7x7 convolution within channels, LayerNorm, and a two-layer network at
/// each position.
class Convnext::Block final : public nn::Module {
 public:
  Block(const Options& options, int64_t width, double drop_path)
      : drop_path_(drop_path) {
    const auto body = add_named_module(*this, "block");
    conv_ = convnext_conv(
        *body, "0",
        nn::Conv2dOptions(width, width, 7).padding(3).groups(width));
    norm_ = convnext_norm(*body, "2", width, options.eps);
    first_ = convnext_linear(*body, "3", width, 4 * width);
    second_ = convnext_linear(*body, "5", 4 * width, width);
    if (options.response_norm) {
      const auto response = add_named_module(*body, "grn");
      response_scale_ =
          response->register_parameter("weight", torch::zeros({4 * width}));
      response_shift_ =
          response->register_parameter("bias", torch::zeros({4 * width}));
    }
    if (options.layer_scale > 0) {
      layer_scale_ = register_parameter(
          "layer_scale", torch::full({width, 1, 1}, options.layer_scale));
    }
  }

  Tensor forward(const Tensor& x) {
    Tensor y = first_(norm_(conv_(x).permute({0, 2, 3, 1})));
    const bool keeps = torch::GradMode::is_enabled() && y.requires_grad();
    y = keeps ? torch::gelu(y) : torch::gelu_(y);
    if (response_scale_.defined()) y = normalise_response(y);
    y = drop_path(last_layer(y).permute({0, 3, 1, 2}), drop_path_,
                  is_training());
    // In bfloat16 the layers' results have fewer digits than their sum is to
    // have.
    return y.scalar_type() == x.scalar_type() ? y.add_(x) : x + y;
  }

 private:
  /// x (1 + w r) + b, where r is the length of the channel in its picture over
  /// the mean length of all channels. [N, H, W, C]
  Tensor normalise_response(const Tensor& x) const {
    const Tensor length = torch::linalg_vector_norm(x, 2, {1, 2}, true);
    const Tensor share = length / (length.mean(-1, true) + 1e-6);
    return torch::addcmul(
        response_shift_, x,
        torch::addcmul(torch::ones_like(share), share, response_scale_));
  }

  /// The layer scale is folded in: it would be one more map to keep.
  Tensor last_layer(const Tensor& x) {
    if (!layer_scale_.defined()) return second_(x);
    const Tensor scale = layer_scale_.flatten();
    return torch::linear(x, second_->weight * scale.unsqueeze(1),
                         second_->bias * scale);
  }

  double drop_path_;
  nn::Conv2d conv_{nullptr};
  nn::LayerNorm norm_{nullptr};
  nn::Linear first_{nullptr};
  nn::Linear second_{nullptr};
  Tensor response_scale_;
  Tensor response_shift_;
  Tensor layer_scale_;
};

/// What halves the map, which the first stage lacks, and blocks.
struct Convnext::Stage {
  nn::LayerNorm norm{nullptr};
  nn::Conv2d halve{nullptr};
  std::vector<std::shared_ptr<Block>> blocks;
};

Convnext::Convnext(Options options, const BackboneInput& input)
    : options_(checked_convnext(std::move(options), input)),
      channels_(input.channels) {
  const auto& widths = options_.widths;
  const auto names = add_named_module(*this, "features");
  const auto next = [&] {
    return add_named_module(*names, std::to_string(names->children().size()));
  };
  const auto stem = next();
  stem_ = convnext_conv(*stem, "0",
                        nn::Conv2dOptions(channels_, widths[0], options_.patch)
                            .stride(options_.patch));
  stem_norm_ = convnext_norm(*stem, "1", widths[0], options_.eps);
  int64_t total = 0, place = 0;
  for (const int64_t depth : options_.depths) total += depth;
  for (size_t s = 0; s < widths.size(); ++s) {
    Stage stage;
    if (s > 0) {
      const auto halve = next();
      stage.norm = convnext_norm(*halve, "0", widths[s - 1], options_.eps);
      stage.halve = convnext_conv(
          *halve, "1",
          nn::Conv2dOptions(widths[s - 1], widths[s], 2).stride(2));
    }
    const auto layer = next();
    for (int64_t i = 0; i < options_.depths[s]; ++i, ++place) {
      const double rate = drop_path_rate(options_.drop_path, place, total);
      stage.blocks.push_back(layer->register_module(
          std::to_string(i),
          std::make_shared<Block>(options_, widths[s], rate)));
    }
    stages_.push_back(std::move(stage));
  }
  last_norm_ = convnext_norm(*add_named_module(*this, "classifier"), "0",
                             widths.back(), options_.last_eps);
}

Convnext::~Convnext() = default;

int64_t Convnext::mix_points() const {
  return 1 + std::min<int64_t>(2, static_cast<int64_t>(stages_.size()));
}

Features Convnext::run(const Tensor& images, const Mixing& mixing) {
  const int64_t least = options_.patch << (stages_.size() - 1);
  TORCH_CHECK_VALUE(images.size(2) >= least && images.size(3) >= least,
                    "[convnext] pictures must have at least ", least, " x ",
                    least, " pixels, got ", images.sizes());
  Tensor x = stem_(images.contiguous(torch::MemoryFormat::ChannelsLast));
  x = norm_channels(stem_norm_, x);
  for (size_t s = 0; s < stages_.size(); ++s) {
    Stage& stage = stages_[s];
    if (stage.halve) x = stage.halve(norm_channels(stage.norm, x));
    for (const auto& block : stage.blocks) x = block->forward(x);
    x = mixing(static_cast<int64_t>(s) + 1, x);
  }
  const Tensor token = last_norm_(x.mean({2, 3}));
  return {options_.norm_map ? norm_channels(last_norm_, x) : x, token};
}

void Convnext::adapt_weights(NamedTensors& weights) const {
  rename_tensors(weights, convnext_names(options_),
                 {"convnext.", "convnextv2.", "model.", "visual.trunk."});
  fit_unit_dimensions(weights, *this);
  adapt_channels(weights, "features.0.0.weight", channels_);
}

void Convnext::publish_weights(NamedTensors& weights, int64_t) const {
  for (auto& [name, tensor] : weights) {
    if (name.ends_with(".layer_scale")) tensor = tensor.flatten();
  }
  rename_back(weights, convnext_timm_names(options_));
}

std::string Convnext::network_of(const NamedTensors& weights) const {
  FoundOptions found;
  for (int64_t s = 0; s < 16; ++s) {
    const std::string number = std::to_string(s);
    const std::string layer = "features." + std::to_string(2 * s + 1) + ".";
    const int64_t depth =
        count_blocks(weights, {layer, "stages." + number + ".blocks.",
                               "stages." + number + ".layers.",
                               "encoder.stages." + number + ".layers.",
                               "stages." + number + "."});
    if (depth == 0) break;
    found["depths"].push_back(depth);
    found["widths"].push_back(size_in(weights, layer + "0.block.0.weight"));
  }
  const std::string response = "features.1.0.block.grn.weight";
  if (!found.empty()) {
    found["response_norm"] = {size_in(weights, response) > 0 ? 1 : 0};
  }
  return nearest_shape("convnext", found);
}

namespace {

ConvnextOptions common_convnext(const PublishedConfig& config) {
  config.require_text("hidden_act", "gelu");
  ConvnextOptions options;
  options.depths = config.integers("depths", options.depths);
  options.widths = config.integers("hidden_sizes", options.widths);
  options.drop_path = config.number("drop_path_rate", 0);
  return options;
}

ConfigNode read_convnext(const PublishedConfig& config) {
  ConvnextOptions options = common_convnext(config);
  options.patch = config.integer("patch_size", options.patch);
  options.last_eps = config.number("layer_norm_eps", 1e-12);
  options.layer_scale = config.number("layer_scale_init_value", 1e-6);
  return backbone_section("convnext", options);
}

ConfigNode read_convnext_v2(const PublishedConfig& config) {
  ConvnextOptions options = common_convnext(config);
  options.patch = config.integer("patch_size", options.patch);
  options.last_eps = config.number("layer_norm_eps", 1e-12);
  options.layer_scale = 0;
  options.response_norm = true;
  return backbone_section("convnext", options);
}

ConfigNode read_dinov3_convnext(const PublishedConfig& config) {
  ConvnextOptions options = common_convnext(config);
  options.eps = config.number("layer_norm_eps", 1e-6);
  options.last_eps = options.eps;
  options.layer_scale = config.number("layer_scale_init_value", 1e-6);
  options.norm_map = true;
  return backbone_section("convnext", options);
}

struct ConvnextSize {
  const char* name;
  std::vector<int64_t> depths;
  int64_t
      width;  ///< Of the first stage; each has twice that of the one before.
  bool has_first;   ///< Published as V1,
  bool has_second;  ///< as V2
  bool has_dinov3;  ///< and by DINOv3.
};

const ConvnextSize kConvnextSizes[] = {
    {"atto", {2, 2, 6, 2}, 40, true, true, false},
    {"femto", {2, 2, 6, 2}, 48, true, true, false},
    {"pico", {2, 2, 6, 2}, 64, true, true, false},
    {"nano", {2, 2, 8, 2}, 80, true, true, false},
    {"tiny", {3, 3, 9, 3}, 96, true, true, true},
    {"small", {3, 3, 27, 3}, 96, true, true, true},
    {"base", {3, 3, 27, 3}, 128, true, true, true},
    {"large", {3, 3, 27, 3}, 192, true, true, true},
    {"xlarge", {3, 3, 27, 3}, 256, true, false, false},
    {"huge", {3, 3, 27, 3}, 352, false, true, false}};

void add_timm_convnext(const std::string& name) {
  PublishedName network = {"timm", name, "stem.0", "head.fc"};
  // timm's smallest have 1x1 convolutions for linear layers otherwise.
  network.arguments.set("conv_mlp", ConfigNode::text("false"));
  add_published_name(std::move(network));
}

bool add_convnexts() {
  auto& registry = backbone_registry();
  for (const ConvnextSize& size : kConvnextSizes) {
    ConvnextOptions options;
    options.depths = size.depths;
    for (size_t s = 0; s < 4; ++s) options.widths[s] = size.width << s;
    const std::string name = size.name;
    const std::string features =
        std::to_string(options.widths.back()) + " features";
    if (size.has_first) {
      registry.add_shape<Convnext>("convnext_" + name,
                                   "ConvNeXt, " + name + " size, " + features,
                                   options);
      add_timm_convnext("convnext_" + name);
    }
    if (size.has_dinov3) {
      ConvnextOptions third = options;
      third.norm_map = true;
      registry.add_shape<Convnext>(
          "dinov3_convnext_" + name,
          "ConvNeXt of DINOv3, " + name + " size, " + features, third);
    }
    if (!size.has_second) continue;
    options.layer_scale = 0;
    options.response_norm = true;
    registry.add_shape<Convnext>("convnext_v2_" + name,
                                 "ConvNeXt V2, " + name + " size, " + features,
                                 options, {"convnextv2_" + name});
    add_timm_convnext("convnextv2_" + name);
  }
  return add_published_reader("convnext", read_convnext) &&
         add_published_reader("convnextv2", read_convnext_v2) &&
         add_published_reader("dinov3_convnext", read_dinov3_convnext);
}

const bool convnexts_added = add_convnexts();

}  // namespace

KITH_REGISTER(backbone_registry(), "convnext", Convnext);

}  // namespace kith
