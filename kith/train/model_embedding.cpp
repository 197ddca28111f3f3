#include "kith/train/model_embedding.h"

#include <string>
#include <utility>

#include "kith/eval/embed_image.h"
#include "kith/train/run_config.h"

namespace kith {

DescriptorOptions model_descriptor(const LoadedModel& model) {
  const ConfigNode* section = model.config.find("eval");
  if (section == nullptr) return {};
  return read_options<EvalOptions>(*section, "eval").descriptor;
}

void cut_embeddings(LoadedModel& model, int64_t dim) {
  ConfigNode section = ConfigNode::map();
  section.set("dim", ConfigNode::text(std::to_string(dim)));
  ConfigNode over = ConfigNode::map();
  over.set("eval", std::move(section));
  merge_config(model.config, over);
}

Tensor embed_image(const LoadedModel& model, const Image& image) {
  return embed_image(*model.net, image, model_descriptor(model));
}

}  // namespace kith
