#include "kith/models/embedding_net.h"

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

ConfigNode part(const ConfigNode& section, const char* key) {
  const ConfigNode* node = section.find(key);
  return node == nullptr ? ConfigNode::map() : *node;
}

/// [C] constants shaped to broadcast over [N, C, H, W].
Tensor by_channel(const std::vector<double>& values, const Tensor& like) {
  return torch::tensor(values, torch::kFloat)
      .view({1, -1, 1, 1})
      .to(like.device());
}

}  // namespace

EmbeddingNet::EmbeddingNet(const ConfigNode& section)
    : input_(
          read_options<InputOptions>(part(section, "input"), "model.input")) {
  input_.check();
  backbone_ =
      backbone_registry().make(part(section, "backbone"), "model.backbone",
                               BackboneInput{input_.channels()});
  register_module("backbone", backbone_);
  const auto head =
      read_options<HeadOptions>(part(section, "head"), "model.head");
  dim_ = head.dim;
  head_ = register_module("head",
                          std::make_shared<Head>(head, backbone_->features()));
}

Tensor EmbeddingNet::prepare(const Batch& batch) const {
  KITH_ASSERT(batch.channels == input_.channels());
  const Tensor pixels = torch::from_blob(
      const_cast<uint8_t*>(batch.pixels.data()),
      {batch.count(), batch.height, batch.width, batch.channels}, torch::kByte);
  const Tensor images = pixels.to(parameters().front().device())
                            .permute({0, 3, 1, 2})
                            .to(torch::kFloat);
  return ((images / 255 - by_channel(input_.mean, images)) /
          by_channel(input_.std, images))
      .contiguous();
}

Tensor EmbeddingNet::forward(const Tensor& images) {
  return head_->forward(backbone_->forward(images));
}

std::vector<std::pair<std::string, Tensor>> EmbeddingNet::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const auto& entry : named_parameters()) {
    all.emplace_back(entry.key(), entry.value());
  }
  for (const auto& entry : named_buffers()) {
    all.emplace_back(entry.key(), entry.value());
  }
  return all;
}

ConfigNode complete_model(const ConfigNode& section) {
  OptionSet parts;  // no plain options: only the three maps
  parts.read(section, "model", {"input", "backbone", "head"});
  const auto input =
      read_options<InputOptions>(part(section, "input"), "model.input");
  input.check();
  ConfigNode backbone = part(section, "backbone");
  if (backbone.is_map() && backbone.find("name") == nullptr) {
    backbone.set("name", ConfigNode::text("convnet"));
  }
  ConfigNode all = ConfigNode::map();
  all.set("input", write_options(input));
  all.set("backbone", backbone_registry().complete(backbone, "model.backbone"));
  all.set("head", write_options(read_options<HeadOptions>(part(section, "head"),
                                                          "model.head")));
  return all;
}

}  // namespace kith
