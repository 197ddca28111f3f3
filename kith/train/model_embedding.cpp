#include "kith/train/model_embedding.h"

#include "kith/eval/embed_image.h"
#include "kith/train/run_config.h"

namespace kith {

DescriptorOptions model_descriptor(const LoadedModel& model) {
  const ConfigNode* section = model.config.find("eval");
  if (section == nullptr) return {};
  return read_options<EvalOptions>(*section, "eval").descriptor;
}

Tensor embed_image(const LoadedModel& model, const Image& image) {
  return embed_image(*model.net, image, model_descriptor(model));
}

}  // namespace kith
