#include "kith/models/published_form.h"

#include <string>

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

/// "vit_small_patch16_224.dino" has the name of its weights behind the dot.
std::string without_tag(const std::string& name) {
  return name.substr(0, name.find('.'));
}

NamedTensors tensors_of(const Backbone& backbone) {
  NamedTensors tensors;
  const auto add = [&](const auto& entries) {
    for (const auto& entry : entries) {
      tensors.emplace_back(entry.key(), entry.value().detach().cpu());
    }
  };
  add(backbone.named_parameters());
  add(backbone.named_buffers());
  return tensors;
}

}  // namespace

PublishedForm published_form(EmbeddingNet& net) {
  if (net.is_own()) {
    throw ConfigError(
        "the network is your own, which neither timm nor torchvision has; "
        "export it with option 'onnx'");
  }
  const torch::NoGradGuard no_grad;
  PublishedForm form;
  form.backbone = *net.section().find("backbone");
  form.network = published_name(form.backbone);
  form.network.name = without_tag(form.network.name);
  form.weights = tensors_of(net.backbone());
  const int64_t size = net.input().size;
  net.backbone().publish_weights(form.weights, size);
  for (auto& [name, tensor] : form.weights) {
    tensor = tensor.contiguous();
    if (name == "pos_embed") form.has_positions = true;
    if (name == form.network.classifier + ".weight") {
      form.classes = tensor.size(0);
    }
  }
  const ConfigNode* grid = form.backbone.find("grid");
  if (form.has_positions && grid != nullptr && grid->scalar != "0") {
    const int64_t side = size / net.backbone().multiple();
    form.backbone.set("grid", ConfigNode::text(std::to_string(side)));
  }
  return form;
}

}  // namespace kith
