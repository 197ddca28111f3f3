#include "kith/models/resnet.h"

#include <optional>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/adapt_weights.h"
#include "kith/models/backbones.h"
#include "kith/models/conv_parts.h"
#include "kith/models/nearest_shape.h"
#include "kith/models/pretrained_input.h"
#include "kith/models/published_config.h"
#include "kith/models/published_name.h"
#include "kith/ops/pooling.h"

namespace kith {

void ResnetOptions::describe(OptionSet& set) {
  set.add("block", block,
          "Kind of residual block: two 3x3 convolutions (basic), or 1x1, 3x3 "
          "and 1x1 (bottleneck).")
      .choices({"basic", "bottleneck"});
  set.add("depths", depths, "Blocks of each stage.").range(1, 200).not_empty();
  set.add("stem", stem, "Channels of the first convolution.").range(1, 8192);
  set.add("widths", widths,
          "Channels of each stage; a bottleneck ends in 4 times as many.")
      .range(1, 8192)
      .not_empty();
  set.add("groups", groups, "Groups of a bottleneck's 3x3 convolution.")
      .range(1, 8192);
  set.add("width_per_group", width_per_group,
          "Channels of such a group where the stage has 64 channels.")
      .range(1, 8192);
  set.add("stride", stride, "Which convolution of a bottleneck halves the map.")
      .choices({"3x3", "1x1"});
  set.add("pool", pool,
          "Windows of the pooling behind the stem: centred (one row and column "
          "of padding), or corner as in Caffe (none, the last may reach "
          "beyond).")
      .choices({"centred", "corner"});
}

namespace {

ResnetOptions checked_resnet(ResnetOptions options) {
  options = checked(std::move(options), "resnet");
  check_stages("resnet", options.depths, {{"widths", &options.widths}});
  if (options.block == "basic" && options.groups != 1) {
    throw ConfigError(
        "'resnet.groups' must be 1 with 'resnet.block' basic, whose "
        "convolutions have no groups, got " +
        std::to_string(options.groups));
  }
  return options;
}

/// Channels within a bottleneck.
int64_t inner_width(const ResnetOptions& options, int64_t width) {
  const int64_t per_group = width * options.width_per_group / 64;
  if (per_group < 1) {
    throw ConfigError("'resnet.width_per_group' must be at least " +
                      std::to_string((63 + width) / width) + " for " +
                      std::to_string(width) + " of 'resnet.widths', got " +
                      std::to_string(options.width_per_group));
  }
  return per_group * options.groups;
}

std::string block_name(size_t stage, size_t block) {
  return "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
}

}  // namespace

class Resnet::Residual final : public torch::nn::Module {
 public:
  Residual(const Options& options, int64_t in, int64_t width, int64_t stride,
           const std::string& batch_norm) {
    const auto add = [&](const ConvShape& shape) {
      const std::string number = std::to_string(body_.size() + 1);
      body_.emplace_back(*this, "conv" + number, "bn" + number, shape,
                         batch_norm);
    };
    if (options.block == "basic") {
      out_ = width;
      add({.in = in, .out = width, .stride = stride});
      add({.in = width, .out = width});
    } else {
      out_ = 4 * width;
      const int64_t inner = inner_width(options, width);
      const bool early = options.stride == "1x1";
      add({.in = in, .out = inner, .kernel = 1, .stride = early ? stride : 1});
      add({.in = inner,
           .out = inner,
           .stride = early ? 1 : stride,
           .groups = options.groups});
      add({.in = inner, .out = out_, .kernel = 1});
    }
    if (in == out_ && stride == 1) return;
    shortcut_.emplace(
        *add_named_module(*this, "downsample"), "0", "1",
        ConvShape{.in = in, .out = out_, .kernel = 1, .stride = stride},
        batch_norm);
  }

  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (size_t i = 0; i + 1 < body_.size(); ++i) {
      y = body_[i](y, Activation::kRelu);
    }
    return body_.back()(y, Activation::kRelu, shortcut_ ? (*shortcut_)(x) : x);
  }

  int64_t out() const { return out_; }

 private:
  int64_t out_ = 0;
  std::vector<ConvNorm> body_;
  std::optional<ConvNorm> shortcut_;
};

Resnet::Resnet(Options options, const BackboneInput& input)
    : options_(checked_resnet(std::move(options))),
      channels_(input.channels),
      stem_(*this, "conv1", "bn1",
            {.in = channels_, .out = options_.stem, .kernel = 7, .stride = 2},
            input.batch_norm) {
  features_ = options_.stem;
  for (size_t stage = 0; stage < options_.depths.size(); ++stage) {
    torch::nn::ModuleList layer;
    layers_.emplace_back();
    for (int64_t i = 0; i < options_.depths[stage]; ++i) {
      const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      const auto added = std::make_shared<Residual>(options_, features_,
                                                    options_.widths[stage],
                                                    stride, input.batch_norm);
      features_ = added->out();
      layer->push_back(added);
      layers_[stage].push_back(added);
    }
    register_module("layer" + std::to_string(stage + 1), layer);
  }
}

int64_t Resnet::mix_points() const {
  return 1 + std::min<int64_t>(2, static_cast<int64_t>(layers_.size()));
}

Features Resnet::run(const Tensor& images, const Mixing& mixing) {
  Tensor x = stem_(images, Activation::kRelu);
  if (options_.pool == "corner") {
    x = torch::max_pool2d(x, 3, 2, 0, 1, true);
  } else {
    x = can_pool(x) ? max_pool_3x3(x) : torch::max_pool2d(x, 3, 2, 1);
  }
  for (size_t stage = 0; stage < layers_.size(); ++stage) {
    for (const auto& block : layers_[stage]) x = block->forward(x);
    x = mixing(static_cast<int64_t>(stage) + 1, x);
  }
  return {x, {}};
}

namespace {

/// The modules of Hugging Face's ResNetModel.
OtherNames huggingface_resnet(const ResnetOptions& options) {
  OtherNames names = {{"embedder.embedder.convolution", "conv1"},
                      {"embedder.embedder.normalization", "bn1"}};
  const size_t convolutions = options.block == "basic" ? 2 : 3;
  for (size_t stage = 0; stage < options.depths.size(); ++stage) {
    const auto depth = static_cast<size_t>(options.depths[stage]);
    for (size_t i = 0; i < depth; ++i) {
      const std::string ours = block_name(stage, i);
      const std::string theirs = "encoder.stages." + std::to_string(stage) +
                                 ".layers." + std::to_string(i);
      names[theirs + ".shortcut.convolution"] = ours + ".downsample.0";
      names[theirs + ".shortcut.normalization"] = ours + ".downsample.1";
      for (size_t c = 0; c < convolutions; ++c) {
        const std::string layer = theirs + ".layer." + std::to_string(c);
        const std::string number = std::to_string(c + 1);
        names[layer + ".convolution"] = ours + ".conv" + number;
        names[layer + ".normalization"] = ours + ".bn" + number;
      }
    }
  }
  return names;
}

/// The batch norm behind a convolution, by their names; empty if this is none.
std::string norm_behind(const std::string& convolution) {
  const auto replaced = [&](size_t at, const char* from, const char* to) {
    return convolution.substr(0, at) + to +
           convolution.substr(at + std::string(from).size());
  };
  if (const size_t at = convolution.rfind("conv"); at != std::string::npos) {
    return replaced(at, "conv", "bn");
  }
  if (convolution.ends_with("downsample.0")) {
    return replaced(convolution.size() - 1, "0", "1");
  }
  return "";
}

/// norm(conv + b) with mean m is norm(conv) with mean m - b.
void move_biases(NamedTensors& weights) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < weights.size(); ++i) places[weights[i].first] = i;
  std::vector<size_t> moved;
  for (const auto& [name, place] : places) {
    if (!name.ends_with(".bias")) continue;
    const std::string norm = norm_behind(name.substr(0, name.size() - 5));
    const auto mean = places.find(norm + ".running_mean");
    if (norm.empty() || mean == places.end()) continue;
    const Tensor& bias = weights[place].second;
    Tensor& centre = weights[mean->second].second;
    if (bias.sizes() != centre.sizes()) continue;
    centre = centre.to(torch::kDouble) - bias.to(torch::kDouble);
    moved.push_back(place);
  }
  std::sort(moved.rbegin(), moved.rend());
  for (const size_t place : moved) {
    weights.erase(weights.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

}  // namespace

void Resnet::adapt_weights(NamedTensors& weights) const {
  rename_tensors(weights, huggingface_resnet(options_), {"resnet."});
  move_biases(weights);
  adapt_channels(weights, "conv1.weight", channels_);
}

std::string Resnet::network_of(const NamedTensors& weights) const {
  FoundOptions found;
  for (int64_t s = 0; s < 16; ++s) {
    const std::string layer = "layer" + std::to_string(s + 1) + ".";
    const int64_t depth = count_blocks(
        weights, {layer, "encoder.stages." + std::to_string(s) + ".layers."});
    if (depth == 0) break;
    const int64_t last = size_in(weights, layer + "0.conv3.weight");
    found["depths"].push_back(depth);
    found["widths"].push_back(
        last > 0 ? last / 4 : size_in(weights, layer + "0.conv2.weight"));
  }
  const std::string second = "layer1.0.conv2.weight";
  const int64_t group = size_in(weights, second, 1);
  if (group > 0 && size_in(weights, "layer1.0.conv3.weight") > 0) {
    found["groups"] = {size_in(weights, second) / group};
  }
  return nearest_shape("resnet", found);
}

namespace {

ConfigNode read_resnet(const PublishedConfig& config) {
  config.require_text("hidden_act", "relu");
  config.require_truth("downsample_in_first_stage", false);
  ResnetOptions options;
  options.block = config.text("layer_type", options.block);
  options.depths = config.integers("depths", options.depths);
  options.stem = config.integer("embedding_size", options.stem);
  options.widths = config.integers("hidden_sizes", {256, 512, 1024, 2048});
  if (config.truth("downsample_in_bottleneck", false)) options.stride = "1x1";
  if (options.block == "basic") return backbone_section("resnet", options);
  for (int64_t& width : options.widths) {
    if (width % 4 != 0) {
      throw DataError(config.path() +
                      ": 'hidden_sizes' must be multiples of 4, got " +
                      std::to_string(width));
    }
    width /= 4;
  }
  return backbone_section("resnet", options);
}

struct NamedResnet {
  const char* name;
  const char* summary;
  ResnetOptions options;
};

const std::vector<int64_t> kDepths101 = {3, 4, 23, 3};

const NamedResnet kResnets[] = {
    {"resnet18",
     "residual network of 18 layers, 512 features",
     {.block = "basic", .depths = {2, 2, 2, 2}}},
    {"resnet34",
     "residual network of 34 layers, 512 features",
     {.block = "basic"}},
    {"resnet50", "residual network of 50 layers, 2048 features", {}},
    {"resnet101",
     "residual network of 101 layers, 2048 features",
     {.depths = kDepths101}},
    {"resnet152",
     "residual network of 152 layers, 2048 features",
     {.depths = {3, 8, 36, 3}}},
    {"resnext50_32x4d",
     "ResNeXt of 50 layers, 2048 features",
     {.groups = 32, .width_per_group = 4}},
    {"resnext101_32x8d",
     "ResNeXt of 101 layers, 2048 features",
     {.depths = kDepths101, .groups = 32, .width_per_group = 8}},
    {"resnext101_64x4d",
     "ResNeXt of 101 layers in 64 groups, 2048 features",
     {.depths = kDepths101, .groups = 64, .width_per_group = 4}},
    {"wide_resnet50_2",
     "ResNet-50 with 3x3 convolutions twice as wide, 2048 features",
     {.width_per_group = 128}},
    {"wide_resnet101_2",
     "ResNet-101 with 3x3 convolutions twice as wide, 2048 features",
     {.depths = kDepths101, .width_per_group = 128}},
    {"resnet50_caffe",
     "ResNet-50 as first published, for Caffe, 2048 features; its weights need "
     "input in bgr",
     {.stride = "1x1", .pool = "corner"}},
    {"resnet50_keras",
     "ResNet-50 as in Keras, 2048 features; its weights need input in bgr",
     {.stride = "1x1"}}};

bool add_resnets() {
  for (const auto& [name, summary, options] : kResnets) {
    backbone_registry().add_shape<Resnet>(name, summary, options);
    const bool is_of_timm = options.stride == ResnetOptions().stride;
    if (is_of_timm) add_published_name({"timm", name, "conv1", "fc"});
  }
  // What both subtract from bytes.
  for (const char* name : {"resnet50_caffe", "resnet50_keras"}) {
    add_pretrained_input(name,
                         {"bgr",
                          {103.939 / 255.0, 116.779 / 255.0, 123.68 / 255.0},
                          {1 / 255.0, 1 / 255.0, 1 / 255.0}});
  }
  return add_published_reader("resnet", read_resnet);
}

const bool resnets_added = add_resnets();

}  // namespace

KITH_REGISTER(backbone_registry(), "resnet", Resnet);

}  // namespace kith
