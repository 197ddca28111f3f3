#include "kith/models/regnet.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/adapt_weights.h"
#include "kith/models/conv_parts.h"
#include "kith/models/nearest_shape.h"
#include "kith/models/published_config.h"
#include "kith/models/published_name.h"

namespace kith {

void RegnetOptions::describe(OptionSet& set) {
  set.add("stem", stem, "Channels of the first convolution.").range(1, 8192);
  set.add("depths", depths, "Blocks of each stage.").range(1, 200).not_empty();
  set.add("widths", widths, "Channels of each stage.")
      .range(1, 16384)
      .not_empty();
  set.add(
         "group_width", group_width,
         "Channels of a group of the 3x3 convolutions; a narrower stage is one "
         "group.")
      .range(1, 8192);
  set.add("squeeze", squeeze,
          "Channels of squeeze and excitation as a part of those that come to "
          "the block (RegNetY); 0: none (RegNetX).")
      .range(0, 1);
}

namespace {

RegnetOptions checked_regnet(RegnetOptions options) {
  options = checked(std::move(options), "regnet");
  check_stages("regnet", options.depths, {{"widths", &options.widths}});
  for (const int64_t width : options.widths) {
    if (width <= options.group_width || width % options.group_width == 0) {
      continue;
    }
    throw ConfigError("'regnet.widths' must be multiples of the " +
                      std::to_string(options.group_width) +
                      " of 'regnet.group_width', got " + std::to_string(width));
  }
  return options;
}

}  // namespace

/// 1x1, 3x3 in groups, squeeze and excitation, and 1x1.
class Regnet::Block final : public torch::nn::Module {
 public:
  Block(const Options& options, int64_t in, int64_t out, int64_t stride,
        const std::string& batch_norm) {
    const auto add = [&](torch::nn::Module& owner, const char* name,
                         const ConvShape& shape) {
      return ConvNorm(*add_named_module(owner, name), "0", "1", shape,
                      batch_norm);
    };
    if (in != out || stride != 1) {
      shortcut_ = add(*this, "proj",
                      {.in = in, .out = out, .kernel = 1, .stride = stride});
    }
    const auto body = add_named_module(*this, "f");
    first_ = add(*body, "a", {.in = in, .out = out, .kernel = 1});
    second_ = add(*body, "b",
                  {.in = out,
                   .out = out,
                   .stride = stride,
                   .groups = out / std::min(out, options.group_width)});
    if (options.squeeze > 0) {
      // Halves become even, as in Python.
      const auto squeezed = static_cast<int64_t>(
          std::nearbyint(options.squeeze * static_cast<double>(in)));
      squeeze_.emplace(*add_named_module(*body, "se"), out,
                       std::max<int64_t>(1, squeezed), Activation::kRelu,
                       "sigmoid");
    }
    third_ = add(*body, "c", {.in = out, .out = out, .kernel = 1});
  }

  Tensor forward(const Tensor& x) {
    Tensor y = second_(first_(x, Activation::kRelu), Activation::kRelu);
    if (squeeze_) y = (*squeeze_)(y);
    return third_(y, Activation::kRelu, shortcut_ ? (*shortcut_)(x) : x);
  }

 private:
  std::optional<ConvNorm> shortcut_;
  ConvNorm first_;
  ConvNorm second_;
  std::optional<SqueezeExcite> squeeze_;
  ConvNorm third_;
};

namespace {

std::string regnet_block(size_t stage, int64_t block) {
  const std::string number = std::to_string(stage + 1);
  return "block" + number + "-" + std::to_string(block);
}

}  // namespace

Regnet::Regnet(Options options, const BackboneInput& input)
    : options_(checked_regnet(std::move(options))), channels_(input.channels) {
  stem_ = ConvNorm(*add_named_module(*this, "stem"), "0", "1",
                   {.in = channels_, .out = options_.stem, .stride = 2},
                   input.batch_norm);
  const auto trunk = add_named_module(*this, "trunk_output");
  int64_t in = options_.stem;
  for (size_t s = 0; s < options_.depths.size(); ++s) {
    const auto stage =
        add_named_module(*trunk, "block" + std::to_string(s + 1));
    stages_.emplace_back();
    for (int64_t i = 0; i < options_.depths[s]; ++i) {
      stages_[s].push_back(stage->register_module(
          regnet_block(s, i),
          std::make_shared<Block>(options_, in, options_.widths[s],
                                  i == 0 ? 2 : 1, input.batch_norm)));
      in = options_.widths[s];
    }
  }
}

int64_t Regnet::mix_points() const {
  return 1 + std::min<int64_t>(2, static_cast<int64_t>(stages_.size()));
}

Features Regnet::run(const Tensor& images, const Mixing& mixing) {
  Tensor x = stem_(images, Activation::kRelu);
  for (size_t s = 0; s < stages_.size(); ++s) {
    for (const auto& block : stages_[s]) x = block->forward(x);
    x = mixing(static_cast<int64_t>(s) + 1, x);
  }
  return {x, {}};
}

namespace {

/// Calls f(ours, stage, block) for every block, its name with a dot behind it.
template <class F>
void for_regnet_blocks(const RegnetOptions& options, const F& f) {
  for (size_t s = 0; s < options.depths.size(); ++s) {
    const std::string stage =
        "trunk_output.block" + std::to_string(s + 1) + ".";
    for (int64_t i = 0; i < options.depths[s]; ++i) {
      f(stage + regnet_block(s, i) + ".", s, i);
    }
  }
}

OtherNames regnet_timm_names(const RegnetOptions& options) {
  OtherNames names = {{"stem.conv", "stem.0"}, {"stem.bn", "stem.1"}};
  for_regnet_blocks(options, [&](const std::string& ours, size_t s, int64_t i) {
    const std::string theirs =
        "s" + std::to_string(s + 1) + ".b" + std::to_string(i + 1) + ".";
    const auto add = [&](const char* name, const char* other) {
      names[theirs + other + ".conv"] = ours + name + ".0";
      names[theirs + other + ".bn"] = ours + name + ".1";
    };
    add("proj", "downsample");
    add("f.a", "conv1");
    add("f.b", "conv2");
    add("f.c", "conv3");
    names[theirs + "se.fc1"] = ours + "f.se.fc1";
    names[theirs + "se.fc2"] = ours + "f.se.fc2";
  });
  return names;
}

/// Of Hugging Face's RegNetModel.
OtherNames regnet_huggingface_names(const RegnetOptions& options) {
  OtherNames names = {{"embedder.embedder.convolution", "stem.0"},
                      {"embedder.embedder.normalization", "stem.1"}};
  for_regnet_blocks(options, [&](const std::string& ours, size_t s, int64_t i) {
    const std::string theirs = "encoder.stages." + std::to_string(s) +
                               ".layers." + std::to_string(i) + ".";
    const auto add = [&](const char* name, const char* other) {
      names[theirs + other + ".convolution"] = ours + name + ".0";
      names[theirs + other + ".normalization"] = ours + name + ".1";
    };
    add("proj", "shortcut");
    add("f.a", "layer.0");
    add("f.b", "layer.1");
    add("f.c", options.squeeze > 0 ? "layer.3" : "layer.2");
    names[theirs + "layer.2.attention.0"] = ours + "f.se.fc1";
    names[theirs + "layer.2.attention.2"] = ours + "f.se.fc2";
  });
  return names;
}

}  // namespace

void Regnet::adapt_weights(NamedTensors& weights) const {
  OtherNames names = regnet_timm_names(options_);
  names.merge(regnet_huggingface_names(options_));
  rename_tensors(weights, names, {"regnet."});
  adapt_channels(weights, "stem.0.weight", channels_);
}

void Regnet::publish_weights(NamedTensors& weights, int64_t) const {
  rename_back(weights, regnet_timm_names(options_));
}

std::string Regnet::network_of(const NamedTensors& weights) const {
  FoundOptions found;
  for (int64_t s = 0; s < 16; ++s) {
    const std::string number = std::to_string(s + 1);
    const std::string stage =
        "trunk_output.block" + number + ".block" + number + "-";
    int64_t depth = count_blocks(
        weights, {stage, "encoder.stages." + std::to_string(s) + ".layers."});
    // timm counts from 1.
    depth = std::max(depth, count_blocks(weights, {"s" + number + ".b"}) - 1);
    if (depth == 0) break;
    found["depths"].push_back(depth);
    found["widths"].push_back(size_in(weights, stage + "0.f.a.0.weight"));
  }
  return nearest_shape("regnet", found);
}

namespace {

ConfigNode read_regnet(const PublishedConfig& config) {
  config.require_text("hidden_act", "relu");
  config.require_truth("downsample_in_first_stage", true);
  RegnetOptions options;
  options.stem = config.integer("embedding_size", 32);
  options.depths = config.integers("depths", {2, 6, 12, 2});
  options.widths = config.integers("hidden_sizes", {128, 192, 512, 1088});
  options.group_width = config.integer("groups_width", 64);
  const std::string type = config.text("layer_type", "y");
  if (type == "x") {
    options.squeeze = 0;
  } else {
    config.require_text("layer_type", "y");
  }
  return backbone_section("regnet", options);
}

struct RegnetSize {
  const char* name;
  const char* alias;  ///< timm's
  std::vector<int64_t> depths;
  std::vector<int64_t> widths;
  int64_t group_width;
};

// torchvision's where it has the network. timm rounds some of them otherwise
// and calls these "_tv"; its own, and those of sizes that torchvision lacks,
// have timm's name.
const RegnetSize kRegnetY[] = {
    {"regnety_002", "", {1, 1, 4, 7}, {24, 56, 152, 368}, 8},
    {"regnet_y_400mf", "regnety_004", {1, 3, 6, 6}, {48, 104, 208, 440}, 8},
    {"regnety_006", "", {1, 3, 7, 4}, {48, 112, 256, 608}, 16},
    {"regnety_008", "", {1, 3, 8, 2}, {64, 128, 320, 768}, 16},
    {"regnet_y_800mf", "regnety_008_tv", {1, 3, 8, 2}, {64, 144, 320, 784}, 16},
    {"regnet_y_1_6gf", "regnety_016", {2, 6, 17, 2}, {48, 120, 336, 888}, 24},
    {"regnet_y_3_2gf", "regnety_032", {2, 5, 13, 1}, {72, 216, 576, 1512}, 24},
    {"regnety_040", "", {2, 6, 12, 2}, {128, 192, 512, 1088}, 64},
    {"regnety_064", "", {2, 7, 14, 2}, {144, 288, 576, 1296}, 72},
    {"regnety_080", "", {2, 4, 10, 1}, {168, 448, 896, 2016}, 56},
    {"regnet_y_8gf",
     "regnety_080_tv",
     {2, 4, 10, 1},
     {224, 448, 896, 2016},
     56},
    {"regnety_120", "", {2, 5, 11, 1}, {224, 448, 896, 2240}, 112},
    {"regnet_y_16gf",
     "regnety_160",
     {2, 4, 11, 1},
     {224, 448, 1232, 3024},
     112},
    {"regnet_y_32gf",
     "regnety_320",
     {2, 5, 12, 1},
     {232, 696, 1392, 3712},
     232},
    {"regnety_640", "", {2, 5, 12, 1}, {328, 984, 1968, 4920}, 328},
    {"regnet_y_128gf",
     "regnety_1280",
     {2, 7, 17, 1},
     {528, 1056, 2904, 7392},
     264}};

const RegnetSize kRegnetX[] = {
    {"regnet_x_400mf", "regnetx_004_tv", {1, 2, 7, 12}, {32, 64, 160, 400}, 16},
    {"regnet_x_800mf", "regnetx_008", {1, 3, 7, 5}, {64, 128, 288, 672}, 16},
    {"regnet_x_1_6gf", "regnetx_016", {2, 4, 10, 2}, {72, 168, 408, 912}, 24},
    {"regnet_x_3_2gf", "regnetx_032", {2, 6, 15, 2}, {96, 192, 432, 1008}, 48},
    {"regnet_x_8gf", "regnetx_080", {2, 5, 15, 1}, {80, 240, 720, 1920}, 120},
    {"regnet_x_16gf", "regnetx_160", {2, 6, 13, 1}, {256, 512, 896, 2048}, 128},
    {"regnet_x_32gf",
     "regnetx_320",
     {2, 7, 13, 1},
     {336, 672, 1344, 2520},
     168}};

void add_regnet(const RegnetSize& size, double squeeze) {
  RegnetOptions options;
  options.depths = size.depths;
  options.widths = size.widths;
  options.group_width = size.group_width;
  options.squeeze = squeeze;
  std::vector<std::string> aliases;
  if (*size.alias != '\0') aliases.emplace_back(size.alias);
  add_published_name({"timm", aliases.empty() ? size.name : size.alias,
                      "stem.conv", "head.fc"});
  backbone_registry().add_shape<Regnet>(
      size.name,
      std::string(squeeze > 0 ? "RegNetY, " : "RegNetX, ") +
          std::to_string(size.widths.back()) + " features",
      options, aliases);
}

bool add_regnets() {
  for (const RegnetSize& size : kRegnetY) add_regnet(size, 0.25);
  for (const RegnetSize& size : kRegnetX) add_regnet(size, 0);
  return add_published_reader("regnet", read_regnet);
}

const bool regnets_added = add_regnets();

}  // namespace

KITH_REGISTER(backbone_registry(), "regnet", Regnet);

}  // namespace kith
