#include "kith/use/published_model.h"

#include <utility>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/models/pretrained_input.h"
#include "kith/models/weight_files.h"
#include "kith/models/weights.h"
#include "kith/train/weights_config.h"

namespace kith {
namespace {

ConfigNode& child(ConfigNode& parent, const char* key) {
  ConfigNode* node = parent.find(key);
  return node == nullptr ? parent.set(key, ConfigNode::map()) : *node;
}

/// Sets an entry that is not there.
void fill(ConfigNode& section, const char* key, const std::string& value) {
  if (section.is_map() && section.find(key) == nullptr) {
    section.set(key, ConfigNode::text(value));
  }
}

ConfigNode asked_config(const PublishedModel& published) {
  if (published.weights.empty()) {
    throw ConfigError(
        "option 'weights' is needed: without them the network "
        "would be random");
  }
  ConfigNode user = ConfigNode::map();
  ConfigNode& model = child(user, "model");
  model.set("weights", ConfigNode::text(full_path(published.weights).string()));
  if (!published.backbone.empty()) {
    child(model, "backbone").set("name", ConfigNode::text(published.backbone));
  }
  for (const std::string& text : published.overrides) {
    apply_override(user, text, "option 'set'");
  }
  OptionSet().read(user, "", {"model"});
  return user;
}

/// What nobody has said.
void fill_input(ConfigNode& model) {
  ConfigNode& input = child(model, "input");
  if (!input.is_map() || input.find("long_side") != nullptr) return;
  const PretrainedInput usual = pretrained_input(*model.find("backbone"));
  fill(input, "colour", usual.colour);
  if (!usual.filter.empty()) fill(input, "filter", usual.filter);
  if (input.find("size") != nullptr) return;
  const int64_t size = usual.size > 0 ? usual.size : 224;
  fill(input, "size", std::to_string(size));
  fill(input, "resize", std::to_string(size * 8 / 7));
  log_info("pictures: the short side is resized to " +
           input.find("resize")->scalar + " pixels and the centre of " +
           input.find("size")->scalar +
           " cut out (model.input.resize, model.input.size)");
}

/// The head that changes nothing.
void fill_head(ConfigNode& model) {
  ConfigNode& head = child(model, "head");
  fill(head, "dim", "0");
  if (!head.is_map() || head.find("pooling") != nullptr) return;
  const ConfigNode complete = complete_model(model, "rgb");
  const InputOptions input =
      read_options<InputOptions>(*complete.find("input"), "model.input");
  const auto backbone = backbone_registry().make(
      *complete.find("backbone"), "model.backbone",
      BackboneInput{input.channels(), input.size, "stats"});
  const PretrainedInput usual = pretrained_input(*model.find("backbone"));
  fill(head, "pooling",
       !usual.pooling.empty()  ? usual.pooling
       : backbone->has_token() ? "class_token"
                               : "average");
}

void refuse_gaps(const std::string& path, const WeightReport& report) {
  if (report.missing.empty() && report.mismatched.empty()) return;
  throw DataError(path + ": " + report.summary() +
                  ". These would stay random: is it another network's file?");
}

}  // namespace

LoadedModel load_published_model(const PublishedModel& published,
                                 c10::Device device) {
  ConfigNode user = asked_config(published);
  const std::string taken = take_weights_config(user);
  if (!taken.empty()) log_info(taken);
  ConfigNode& model = *user.find("model");
  if (model.find("backbone") == nullptr) {
    throw ConfigError("option 'backbone' is needed: nothing beside " +
                      published.weights +
                      " says which network it is of (kith list backbones)");
  }
  fill_input(model);
  const WeightFiles files = find_weight_files(model.find("weights")->scalar);
  const std::string& description =
      files.config.empty() ? published.weights : files.config;
  LoadedModel loaded;
  {
    const TensorLimit limit = limit_network(description, files.weights);
    fill_head(model);
  }
  loaded.config = ConfigNode::map();
  loaded.config.set("model", complete_model(model, "rgb"));
  std::shared_ptr<Backbone> backbone;
  {
    const TensorLimit limit = limit_network(description, files.weights);
    backbone = EmbeddingNet::make_backbone(*loaded.config.find("model"));
  }
  loaded.net = std::make_unique<EmbeddingNet>(*loaded.config.find("model"),
                                              std::move(backbone));
  const WeightReport report =
      load_weights(model.find("weights")->scalar, loaded.net->backbone());
  refuse_gaps(published.weights, report);
  log_info(published.weights + ": " + report.summary());
  if (loaded.net->head().parameters().size() > 0) {
    log_info("the head has parameters that nothing has trained");
  }
  loaded.net->use_device(device);
  loaded.net->eval();
  return loaded;
}

}  // namespace kith
