#include "kith/models/efficientnet.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/nearest_shape.h"
#include "kith/models/pretrained_input.h"
#include "kith/models/published_config.h"
#include "kith/models/published_name.h"

namespace kith {

void EfficientnetOptions::describe(OptionSet& set) {
  const auto by_stage = [&](const char* name, std::vector<int64_t>& list,
                            const char* help, int64_t most) {
    set.add(name, list, help).range(1, static_cast<double>(most)).not_empty();
  };
  set.add("stem", stem, "Channels of the first convolution.").range(1, 8192);
  by_stage("depths", depths, "Blocks of each stage.", 200);
  by_stage("widths", widths, "Channels of each stage.", 8192);
  by_stage("expand", expand,
           "How many times as many channels a stage's blocks have inside.", 64);
  by_stage("kernels", kernels, "Side of a stage's kernels; odd.", 31);
  by_stage("strides", strides, "Stride of a stage's first block.", 2);
  set.add(
         "fused", fused,
         "The first stages, whose blocks have one full convolution in place of "
         "two, and no squeeze and excitation (EfficientNetV2).")
      .range(0, 100);
  set.add("last", last, "Channels of the last convolution.").range(1, 16384);
  set.add("squeeze", squeeze,
          "Channels of squeeze and excitation as a part of those that come to "
          "the block.")
      .range(0, 1);
  set.add("padding", padding,
          "Of convolutions with a stride: symmetric (PyTorch), same "
          "(TensorFlow), or even: what TensorFlow has for even sizes.")
      .choices({"symmetric", "same", "even"});
  set.add("symmetric_blocks", symmetric_blocks,
          "Blocks, counted from 0 through all stages, that pad alike on all "
          "sides where `padding` is even.")
      .range(0, 20000);
  set.add("bn_eps", bn_eps, "Of batch norm.").positive();
  set.add("bn_momentum", bn_momentum,
          "Share of a batch in batch norm's running statistics.")
      .range(0, 1);
  set.add("drop_path", drop_path,
          "Part of the pictures for which training leaves out a last block; it "
          "rises evenly from 0 at the first.")
      .range(0, 0.99);
}

namespace {

EfficientnetOptions checked_efficientnet(EfficientnetOptions options) {
  options = checked(std::move(options), "efficientnet");
  check_stages("efficientnet", options.depths,
               {{"widths", &options.widths},
                {"expand", &options.expand},
                {"kernels", &options.kernels},
                {"strides", &options.strides}});
  check_kernels("efficientnet", options.kernels);
  return options;
}

std::string efficientnet_block(size_t stage, size_t block) {
  return "features." + std::to_string(stage + 1) + "." + std::to_string(block) +
         ".";
}

InvertedNorm norm_of(const EfficientnetOptions& options,
                     const BackboneInput& input) {
  return {options.padding, options.bn_eps, options.bn_momentum,
          input.batch_norm};
}

}  // namespace

InvertedShape Efficientnet::shape_of(size_t stage, int64_t block, int64_t place,
                                     int64_t in) const {
  int64_t total = 0;
  for (const int64_t depth : options_.depths) total += depth;
  InvertedShape shape;
  shape.in = in;
  shape.inner = in * options_.expand[stage];
  shape.out = options_.widths[stage];
  shape.kernel = options_.kernels[stage];
  shape.stride = block == 0 ? options_.strides[stage] : 1;
  shape.is_fused = static_cast<int64_t>(stage) < options_.fused;
  if (!shape.is_fused && options_.squeeze > 0) {
    const auto squeezed =
        static_cast<int64_t>(options_.squeeze * static_cast<double>(in));
    shape.squeezed = std::max<int64_t>(1, squeezed);
  }
  shape.activation = Activation::kSilu;
  shape.squeeze_activation = Activation::kSilu;
  shape.squeeze_gate = "sigmoid";
  shape.drop_path = options_.drop_path * static_cast<double>(place) /
                    static_cast<double>(total);
  return shape;
}

Efficientnet::Efficientnet(Options options, const BackboneInput& input)
    : options_(checked_efficientnet(std::move(options))),
      channels_(input.channels) {
  const InvertedNorm norm = norm_of(options_, input);
  const auto names = add_named_module(*this, "features");
  const auto next = [&] {
    return add_named_module(*names, std::to_string(names->children().size()));
  };
  stem_ = PaddedConvNorm(
      *next(), {.in = channels_, .out = options_.stem, .stride = 2}, norm);
  int64_t in = options_.stem, place = 0;
  for (size_t s = 0; s < options_.depths.size(); ++s) {
    const auto layer = next();
    stages_.emplace_back();
    for (int64_t i = 0; i < options_.depths[s]; ++i, ++place) {
      InvertedNorm own = norm;
      const auto& symmetric = options_.symmetric_blocks;
      if (own.padding == "even" && std::find(symmetric.begin(), symmetric.end(),
                                             place) != symmetric.end()) {
        own.padding = "symmetric";
      }
      stages_[s].push_back(layer->register_module(
          std::to_string(i),
          std::make_shared<InvertedBlock>(shape_of(s, i, place, in), own)));
      in = options_.widths[s];
    }
  }
  last_ = PaddedConvNorm(*next(), {.in = in, .out = options_.last, .kernel = 1},
                         norm);
}

int64_t Efficientnet::mix_points() const {
  return std::clamp<int64_t>(static_cast<int64_t>(stages_.size()), 1, 3);
}

Features Efficientnet::run(const Tensor& images, const Mixing& mixing) {
  Tensor x = stem_(images, Activation::kSilu);
  for (size_t s = 0; s < stages_.size(); ++s) {
    for (const auto& block : stages_[s]) x = block->forward(x);
    if (s > 0) x = mixing(static_cast<int64_t>(s), x);
  }
  return {last_(x, Activation::kSilu), {}};
}

OtherNames Efficientnet::timm_names() const {
  const std::string last = "features." + std::to_string(stages_.size() + 1);
  OtherNames names = {{"conv_stem", "features.0.0"},
                      {"bn1", "features.0.1"},
                      {"conv_head", last + ".0"},
                      {"bn2", last + ".1"}};
  for (size_t s = 0; s < stages_.size(); ++s) {
    for (size_t i = 0; i < stages_[s].size(); ++i) {
      stages_[s][i]->add_timm_names(
          names, "blocks." + std::to_string(s) + "." + std::to_string(i) + ".",
          efficientnet_block(s, i));
    }
  }
  return names;
}

OtherNames Efficientnet::huggingface_names() const {
  const std::string last = "features." + std::to_string(stages_.size() + 1);
  OtherNames names = {{"embeddings.convolution", "features.0.0"},
                      {"embeddings.batchnorm", "features.0.1"},
                      {"encoder.top_conv", last + ".0"},
                      {"encoder.top_bn", last + ".1"}};
  size_t place = 0;
  for (size_t s = 0; s < stages_.size(); ++s) {
    for (size_t i = 0; i < stages_[s].size(); ++i, ++place) {
      stages_[s][i]->add_huggingface_names(
          names, "encoder.blocks." + std::to_string(place) + ".",
          efficientnet_block(s, i));
    }
  }
  return names;
}

void Efficientnet::adapt_weights(NamedTensors& weights) const {
  OtherNames names = timm_names();
  names.merge(huggingface_names());
  rename_tensors(weights, names, {"efficientnet."});
  fit_unit_dimensions(weights, *this);
  adapt_channels(weights, "features.0.0.weight", channels_);
}

void Efficientnet::publish_weights(NamedTensors& weights, int64_t) const {
  rename_back(weights, timm_names());
}

std::string Efficientnet::network_of(const NamedTensors& weights) const {
  FoundOptions found;
  for (int64_t s = 0; s < 16; ++s) {
    const std::string layer = "features." + std::to_string(s + 1) + ".";
    int64_t width = 0;
    for (int64_t i = 0; i < 4; ++i) {  // The last convolution of a block.
      const int64_t out = size_in(
          weights, layer + "0.block." + std::to_string(i) + ".0.weight");
      if (out > 0) width = out;
    }
    if (width == 0) break;
    found["depths"].push_back(
        count_blocks(weights, {layer, "blocks." + std::to_string(s) + "."}));
    found["widths"].push_back(width);
  }
  return nearest_shape("efficientnet", found);
}

namespace {

/// The multiple of `divisor` that is nearest to `channels` and no more than a
/// tenth below, as in the publication.
int64_t rounded_channels(double channels, int64_t divisor) {
  const auto step = static_cast<double>(divisor);
  const int64_t near =
      static_cast<int64_t>(channels + step / 2) / divisor * divisor;
  const int64_t least = std::max(divisor, near);
  return static_cast<double>(least) < 0.9 * channels ? least + divisor : least;
}

/// EfficientNet-B0 with other widths and depths.
EfficientnetOptions scaled(double width, double depth) {
  EfficientnetOptions options;
  options.stem = rounded_channels(32 * width, 8);
  for (int64_t& channels : options.widths) {
    channels = rounded_channels(static_cast<double>(channels) * width, 8);
  }
  for (int64_t& blocks : options.depths) {
    blocks =
        static_cast<int64_t>(std::ceil(static_cast<double>(blocks) * depth));
  }
  options.last = 4 * options.widths.back();
  return options;
}

EfficientnetOptions second_version(std::vector<int64_t> depths,
                                   std::vector<int64_t> widths) {
  EfficientnetOptions options;
  const bool is_small = depths.size() == 6;
  options.stem = widths.front();
  options.depths = std::move(depths);
  options.widths = std::move(widths);
  options.expand = {1, 4, 4, 4, 6, 6, 6};
  options.kernels = {3, 3, 3, 3, 3, 3, 3};
  options.strides = {1, 2, 2, 2, 1, 2, 1};
  if (is_small) {
    for (auto* list : {&options.expand, &options.kernels, &options.strides}) {
      list->pop_back();
    }
  }
  options.fused = 3;
  options.bn_eps = 1e-3;
  return options;
}

/// Of a config.json, where the numbers of one stage stand in a row.
std::vector<int64_t> list_of(const PublishedConfig& config,
                             const std::string& key,
                             const std::vector<int64_t>& other) {
  std::vector<int64_t> list = config.integers(key, other);
  if (list.size() != other.size()) {
    throw DataError(config.path() + ": '" + key + "' must have " +
                    std::to_string(other.size()) + " entries, got " +
                    std::to_string(list.size()));
  }
  return list;
}

int64_t in_range(const PublishedConfig& config, const std::string& key,
                 double value, double most) {
  if (value >= 1 && value <= most) return static_cast<int64_t>(value);
  throw DataError(config.path() + ": '" + key +
                  "' makes a network that is too large or has no layers");
}

/// The blocks that lie where another EfficientNet has a sum, and this none.
void check_channels(const PublishedConfig& config,
                    const EfficientnetOptions& options,
                    const std::vector<int64_t>& in) {
  int64_t before = options.stem;
  for (size_t s = 0; s < in.size(); ++s) {
    if (in[s] != before) {
      throw DataError(config.path() +
                      ": 'in_channels' must be what the stage before has in "
                      "'out_channels', the first 32");
    }
    if (options.strides[s] == 1 && before == options.widths[s]) {
      throw DataError(config.path() +
                      ": a stage has as many channels as the one before and "
                      "no stride; kith does not have this network");
    }
    before = options.widths[s];
  }
}

ConfigNode read_efficientnet(const PublishedConfig& config) {
  if (config.text("hidden_act", "swish") != "silu") {  // two names of one
    config.require_text("hidden_act", "swish");
  }
  EfficientnetOptions options;
  const double width = config.number("width_coefficient", 2.0);
  const double depth = config.number("depth_coefficient", 3.1);
  const int64_t divisor =
      in_range(config, "depth_divisor",
               static_cast<double>(config.integer("depth_divisor", 8)), 8192);
  const auto channels = [&](const std::string& key, int64_t plain) {
    const double wide = static_cast<double>(plain) * width;
    in_range(config, key, wide, 8192);
    return rounded_channels(wide, divisor);
  };
  options.stem = channels("width_coefficient", 32);
  options.widths = list_of(config, "out_channels", options.widths);
  for (int64_t& w : options.widths) w = channels("out_channels", w);
  options.depths = list_of(config, "num_block_repeats", options.depths);
  for (int64_t& d : options.depths) {
    d = in_range(config, "num_block_repeats",
                 std::ceil(static_cast<double>(d) * depth), 200);
  }
  options.expand = list_of(config, "expand_ratios", options.expand);
  options.kernels = list_of(config, "kernel_sizes", options.kernels);
  options.strides = list_of(config, "strides", options.strides);
  options.last = config.integer("hidden_dim", 2560);
  options.squeeze = config.number("squeeze_expansion_ratio", 0.25);
  options.padding = "even";
  options.symmetric_blocks = config.integers("depthwise_padding", {});
  options.bn_eps = config.number("batch_norm_eps", 1e-3);
  // There 0.99 is what stays, as in TensorFlow. 0.01 is to be 0.01.
  const double stays = config.number("batch_norm_momentum", 0.99);
  options.bn_momentum = std::round((1 - stays) * 1e9) / 1e9;
  options.drop_path = config.number("drop_connect_rate", 0.2);
  std::vector<int64_t> in =
      list_of(config, "in_channels", {32, 16, 24, 40, 80, 112, 192});
  for (int64_t& c : in) c = channels("in_channels", c);
  check_channels(config, options, in);
  return backbone_section("efficientnet", options);
}

bool add_timm_efficientnet(const std::string& name) {
  return add_published_name({"timm", name, "conv_stem", "classifier"});
}

/// The network as torchvision has it and, with another name, as TensorFlow.
/// `timm` is timm's name of the first.
void add_efficientnet(const std::string& name, const std::string& timm,
                      const std::string& from_tf,
                      const EfficientnetOptions& options) {
  auto& registry = backbone_registry();
  const std::string features = std::to_string(options.last) + " features";
  std::vector<std::string> aliases;
  if (timm != name) aliases.push_back(timm);
  registry.add_shape<Efficientnet>(name, "EfficientNet, " + features, options,
                                   aliases);
  if (options.bn_eps != EfficientnetOptions().bn_eps) {
    // torchvision's differs from its smaller ones, timm's does not.
    ConfigNode plain = ConfigNode::map();
    plain.set("bn_eps", ConfigNode::text("1e-05"));
    plain.set("bn_momentum", ConfigNode::text("0.1"));
    add_timm_difference(name, std::move(plain));
  }
  EfficientnetOptions other = options;
  other.padding = "same";
  other.bn_eps = 1e-3;
  other.bn_momentum = 0.01;
  registry.add_shape<Efficientnet>(
      from_tf, "EfficientNet of TensorFlow, " + features, other);
  add_timm_efficientnet(timm);
  add_timm_efficientnet(from_tf);
}

bool add_efficientnets() {
  const std::pair<double, double> scales[] = {
      {1.0, 1.0}, {1.0, 1.1}, {1.1, 1.2}, {1.2, 1.4},
      {1.4, 1.8}, {1.6, 2.2}, {1.8, 2.6}, {2.0, 3.1}};
  for (size_t b = 0; b < std::size(scales); ++b) {
    EfficientnetOptions options = scaled(scales[b].first, scales[b].second);
    if (b >= 5) {
      options.bn_eps = 1e-3;
      options.bn_momentum = 0.01;
    }
    const std::string name = "efficientnet_b" + std::to_string(b);
    add_efficientnet(name, name, "tf_" + name, options);
  }
  add_efficientnet(
      "efficientnet_v2_s", "efficientnetv2_s", "tf_efficientnetv2_s",
      second_version({2, 4, 4, 6, 9, 15}, {24, 48, 64, 128, 160, 256}));
  add_efficientnet("efficientnet_v2_m", "efficientnetv2_m",
                   "tf_efficientnetv2_m",
                   second_version({3, 5, 5, 7, 14, 18, 5},
                                  {24, 48, 80, 160, 176, 304, 512}));
  add_efficientnet("efficientnet_v2_l", "efficientnetv2_l",
                   "tf_efficientnetv2_l",
                   second_version({4, 7, 7, 10, 19, 25, 7},
                                  {32, 64, 96, 192, 224, 384, 640}));
  for (const char* name : {"efficientnet_v2_l", "tf_efficientnetv2_s",
                           "tf_efficientnetv2_m", "tf_efficientnetv2_l"}) {
    add_pretrained_input(name, {"rgb", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}});
  }
  return add_published_reader("efficientnet", read_efficientnet);
}

const bool efficientnets_added = add_efficientnets();

}  // namespace

KITH_REGISTER(backbone_registry(), "efficientnet", Efficientnet);

}  // namespace kith
