#include "kith/models/embedding_net.h"

#include <algorithm>
#include <map>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/name_pattern.h"
#include "kith/core/torch_compat.h"
#include "kith/models/conv_norm.h"
#include "kith/models/pretrained_input.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

ConfigNode part(const ConfigNode& section, const char* key) {
  const ConfigNode* node = section.find(key);
  return node == nullptr ? ConfigNode::map() : *node;
}

ModelOptions model_options(const ConfigNode& section) {
  refuse_own_network(section, section.where);
  auto options = read_options<ModelOptions>(
      section, "model", {"input", "backbone", "head", "lora"});
  const ConfigNode lora = part(section, "lora");
  options.lora = read_options<LoraOptions>(lora, "model.lora");
  if (!lora.entries.empty() && lora.find("rank") == nullptr) {
    throw ConfigError((lora.where.empty() ? "" : lora.where + ": ") +
                      "'model.lora' needs a 'rank', such as 8: without one "
                      "there are no adapters");
  }
  return options;
}

/// [C] constants shaped to broadcast over [N, C, H, W].
Tensor by_channel(const std::vector<double>& values) {
  return torch::tensor(values, torch::kDouble).view({-1, 1, 1});
}

/// Patches, if the backbone has such, must fill every picture.
void check_multiple(const InputOptions& input, const Backbone& backbone) {
  const bool any = input.any_shape();
  const int64_t has = any ? input.multiple : input.size;
  const int64_t needed = backbone.multiple();
  if (has % needed == 0) return;
  throw ConfigError(std::string("'model.input.") + (any ? "multiple" : "size") +
                    "' must be a multiple of the " + std::to_string(needed) +
                    " pixels of a patch of this backbone, got " +
                    std::to_string(has) + ": take " +
                    std::to_string(std::max(needed, has / needed * needed)));
}

bool is_batch_norm(const torch::nn::Module& module) {
  namespace nn = torch::nn;
  return module.as<nn::BatchNorm1dImpl>() != nullptr ||
         module.as<nn::BatchNorm2dImpl>() != nullptr ||
         module.as<nn::BatchNorm3dImpl>() != nullptr;
}

void check_shapes(const InputOptions& input, const Backbone& backbone) {
  check_multiple(input, backbone);
  const std::string reason = backbone.fixed_size();
  if (!input.any_shape() || reason.empty()) return;
  throw ConfigError(
      "'model.input.long_side' needs a backbone that takes pictures of any "
      "size, but this is " +
      reason +
      ": take a convolutional backbone such as resnet50, or leave it at 0");
}

void check_input(const InputOptions& input) {
  if (input.colour == "auto") {
    throw ConfigError(
        "'model.input.colour' is auto, which only data can decide: set it to "
        "grey or rgb");
  }
  input.check();
}

/// What is known of a network that no configuration describes.
ConfigNode own_section(const InputOptions& input, int64_t dim) {
  ConfigNode section = ConfigNode::map();
  section.set("own", ConfigNode::text("true"));
  section.set("dim", ConfigNode::text(std::to_string(dim)));
  section.set("input", write_options(input));
  return section;
}

}  // namespace

void ModelOptions::describe(OptionSet& set) {
  set.add("weights", weights,
          "A .safetensors, .pth or .pt file with weights of the backbone to "
          "start from; empty: none.");
  set.add("bn", bn,
          "Batch norm: statistics of a chunk of the batch (train), of the "
          "chunks of all ranks together (sync), kept statistics (stats), or "
          "kept scale and shift too (all).")
      .choices({"train", "sync", "stats", "all"});
  set.add("precision", precision,
          "How a GPU computes the network: float32, tf32, or the backbone in "
          "bfloat16 (bf16).")
      .choices({"float32", "tf32", "bf16"});
}

Tensor pixels_of(const BatchPart& part) {
  const auto pixels = part.pixels;
  return torch::from_blob(
      pixels.get(), {part.count(), part.height, part.width, part.channels},
      [pixels](void*) {}, torch::kByte);
}

std::unique_ptr<Backbone> EmbeddingNet::make_backbone(
    const ConfigNode& section) {
  const ModelOptions options = model_options(section);
  const auto input =
      read_options<InputOptions>(part(section, "input"), "model.input");
  check_input(input);
  return backbone_registry().make(
      part(section, "backbone"), "model.backbone",
      BackboneInput{input.channels(), input.largest_side(), options.bn});
}

EmbeddingNet::EmbeddingNet(const ConfigNode& section)
    : EmbeddingNet(section, make_backbone(section)) {}

EmbeddingNet::EmbeddingNet(const ConfigNode& section,
                           std::shared_ptr<Backbone> backbone)
    : options_(model_options(section)),
      input_(read_options<InputOptions>(part(section, "input"), "model.input")),
      section_(section) {
  set_input();
  add_backbone(std::move(backbone),
               read_options<HeadOptions>(part(section, "head"), "model.head"));
}

EmbeddingNet::EmbeddingNet(InputOptions input,
                           std::shared_ptr<Backbone> backbone, HeadOptions head,
                           ModelOptions options)
    : options_(checked(std::move(options), "model")),
      input_(checked(std::move(input), "model.input")) {
  input_.settle(input_.colour, nullptr);
  set_input();
  add_backbone(std::move(backbone), checked(head, "model.head"));
  section_ = own_section(input_, dim_);
  section_.set("head", write_options(head));
  section_.set("lora", write_options(checked(options_.lora, "model.lora")));
  merge_config(section_, write_options(options_));
}

EmbeddingNet::EmbeddingNet(InputOptions input, const OwnNetwork& network,
                           OwnNetworkOptions options)
    : input_(checked(std::move(input), "model.input")),
      l2_(options.l2),
      channels_last_(options.channels_last),
      own_(network.module()) {
  options_.precision = checked(options, "model").precision;
  options_.bn = options.keep_statistics ? "stats" : "train";
  input_.settle(input_.colour, nullptr);
  set_input();
  backbone_ = register_module("network", own_backbone(network, input_));
  dim_ = backbone_->features();
  train();
  section_ = own_section(input_, dim_);
  merge_config(section_, write_options(options));
}

void EmbeddingNet::set_input() {
  check_input(input_);
  const Tensor std = by_channel(input_.std);
  scale_ = (255 * std).reciprocal();
  shift_ = -by_channel(input_.mean) / std;
}

void EmbeddingNet::add_backbone(std::shared_ptr<Backbone> backbone,
                                const HeadOptions& head) {
  backbone_ = register_module("backbone", std::move(backbone));
  check_shapes(input_, *backbone_);
  input_.patch = backbone_->multiple();
  l2_ = head.l2;
  head_ = register_module("head", std::make_shared<Head>(head, *backbone_));
  dim_ = head_->dim();
  // Last, so that all else starts as without them.
  lora_ = Lora(options_.lora, *backbone_, "backbone");
  if (!lora_.is_empty()) freeze({});
  train();
}

c10::Device EmbeddingNet::device() const {
  return parameters().front().device();
}

void EmbeddingNet::use_device(c10::Device device) {
  to(device);
  scale_ = scale_.to(device);
  shift_ = shift_.to(device);
  if (!channels_last_) return;
  for (Tensor& parameter : parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

void EmbeddingNet::apply_precision() const {
  const bool tf32 = options_.precision == "tf32";
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setAllowTF32CuDNN(tf32);
}

void EmbeddingNet::freeze_backbone(bool frozen) {
  if (!own_) set_trainable(*backbone_, !frozen, options_.bn);
  keep_frozen();
}

void EmbeddingNet::keep_frozen() {
  for (auto& [name, weight] : weights()) {
    if (frozen_.contains(name)) Tensor(weight).requires_grad_(false);
  }
}

void EmbeddingNet::freeze(const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  for (const auto& [name, weight] : weights()) {
    names.push_back(name);
    if (frozen_.contains(name)) Tensor(weight).requires_grad_(true);
  }
  const std::vector<std::string> chosen = names_that_fit(
      "train.freeze", "parameter of the network", patterns, names);
  if (chosen.size() == names.size()) {
    throw ConfigError(
        "'train.freeze' keeps all parameters of the network as they are: leave "
        "some to train, such as those of the head");
  }
  frozen_ = {chosen.begin(), chosen.end()};
  for (const std::string& name : names) {
    const bool is_base = name.starts_with("backbone.") && !is_of_lora(name);
    if (!lora_.is_empty() && is_base) frozen_.insert(name);
  }
  frozen_norms_.clear();
  for (const auto& entry : named().named_modules("", false)) {
    const auto own = entry.value()->named_parameters(/*recurse=*/false);
    const bool is_kept =
        std::all_of(own.begin(), own.end(), [&](const auto& p) {
          return frozen_.contains(entry.key() + "." + p.key());
        });
    if (is_batch_norm(*entry.value()) && !own.is_empty() && is_kept) {
      frozen_norms_.push_back(entry.value());
    }
  }
  freeze_backbone(false);
  train(is_training());
}

std::unique_ptr<EmbeddingNet> EmbeddingNet::merged() const {
  const torch::NoGradGuard no_grad;
  ConfigNode section = section_;
  section.set("lora", write_options(LoraOptions()));
  auto plain = std::make_unique<EmbeddingNet>(section);
  std::map<std::string, Tensor> values;
  for (const auto& [name, tensor] : state()) values[name] = tensor;
  for (const auto& [name, tensor] : lora_.merged()) values[name] = tensor;
  for (auto& [name, tensor] : plain->state()) {
    Tensor(tensor).copy_(values.at(name));
  }
  return plain;
}

NamedTensors EmbeddingNet::trained() const {
  NamedTensors all = weights();
  std::erase_if(
      all, [&](const auto& entry) { return frozen_.contains(entry.first); });
  return all;
}

void EmbeddingNet::train(bool on) {
  Module::train(on);
  set_training(*backbone_, on, options_.bn);
  for (const auto& norm : frozen_norms_) norm->eval();
}

Tensor EmbeddingNet::prepare(const Tensor& pixels) const {
  TORCH_CHECK_VALUE(pixels.dim() == 4 && pixels.size(3) == input_.channels() &&
                        pixels.scalar_type() == torch::kByte,
                    "[prepare] expected bytes [N, H, W, ", input_.channels(),
                    "], got ", pixels.toString(), " ", pixels.sizes());
  const Tensor ordered = input_.colour == "bgr" ? pixels.flip({3}) : pixels;
  // One pass over the memory. The result has the layout of the pixels and the
  // type of the network.
  const auto like = pixels.options().dtype(parameters().front().dtype());
  const Tensor images = torch::addcmul(
      shift_.to(like), ordered.permute({0, 3, 1, 2}), scale_.to(like));
  return channels_last_ ? images : images.contiguous();
}

Features EmbeddingNet::features_of(const Tensor& images, const Mixing& mixing) {
  const Lora::InPlace adapted(lora_);
  const Autocast autocast(images.is_cuda() && options_.precision == "bf16");
  return backbone_->forward(images, mixing);
}

Tensor EmbeddingNet::forward(const Tensor& images, const Mixing& mixing) {
  const Features features = features_of(images, mixing);
  const Autocast off(false);
  if (head_) return head_->forward(features);
  const Tensor x = features.token.to(images.scalar_type());
  return l2_ ? normalize_rows(x) : x;
}

Tensor EmbeddingNet::pooled(const Tensor& images) {
  const Features features = features_of(images, {});
  const Autocast off(false);
  return head_ ? head_->pooled(features) : features.token;
}

Tensor EmbeddingNet::pool(const Tensor& images) {
  const Features features = features_of(images, {});
  const Autocast off(false);
  return head_ ? head_->pool(features) : features.token;
}

/// The module whose names are those of the weights.
const torch::nn::Module& EmbeddingNet::named() const {
  return own_ ? *own_ : static_cast<const Module&>(*this);
}

NamedTensors EmbeddingNet::weights() const {
  NamedTensors all;
  for (const auto& entry : named().named_parameters()) {
    all.emplace_back(entry.key(), entry.value());
  }
  return all;
}

NamedTensors EmbeddingNet::state() const {
  NamedTensors all = weights();
  for (const auto& entry : named().named_buffers()) {
    all.emplace_back(entry.key(), entry.value());
  }
  return all;
}

void refuse_own_network(const ConfigNode& section, const std::string& where) {
  if (section.find("own") == nullptr) return;
  throw ConfigError((where.empty() ? "" : where + ": ") +
                    "the network of this run is its user's own: only the "
                    "program that made it can make it again, and load these "
                    "weights into it with load_checkpoint()");
}

ConfigNode model_section(const InputOptions& input, ConfigNode backbone,
                         const HeadOptions& head, const ModelOptions& options) {
  ConfigNode section = ConfigNode::map();
  section.set("input", write_options(input));
  section.set("backbone", std::move(backbone));
  section.set("head", write_options(head));
  section.set("lora", write_options(options.lora));
  merge_config(section, write_options(options));
  return complete_model(section, input.colour);
}

ConfigNode complete_model(const ConfigNode& section,
                          const std::string& colour) {
  const ModelOptions model = model_options(section);
  ConfigNode backbone = part(section, "backbone");
  if (backbone.is_map() && backbone.find("name") == nullptr) {
    backbone.set("name", ConfigNode::text("convnet"));
  }
  auto input =
      read_options<InputOptions>(part(section, "input"), "model.input");
  const PretrainedInput pretrained = pretrained_input(backbone);
  input.settle(colour, model.weights.empty() ? nullptr : &pretrained);
  input.check();
  ConfigNode all = ConfigNode::map();
  all.set("input", write_options(input));
  all.set("backbone", backbone_registry().complete(backbone, "model.backbone"));
  all.set("head", write_options(read_options<HeadOptions>(part(section, "head"),
                                                          "model.head")));
  all.set("lora", write_options(model.lora));
  merge_config(all, write_options(model));
  return all;
}

}  // namespace kith
