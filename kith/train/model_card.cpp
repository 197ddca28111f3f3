#include "kith/train/model_card.h"

#include <cmath>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/core/path.h"
#include "kith/train/measured_text.h"
#include "kith/train/model_embedding.h"
#include "kith/train/python_text.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

ConfigNode list_of_texts(const std::vector<std::string>& texts) {
  ConfigNode list;
  list.kind = ConfigNode::Kind::kList;
  for (const std::string& text : texts) {
    list.items.push_back(ConfigNode::text(text));
  }
  return list;
}

ConfigNode map_of(std::vector<std::pair<std::string, ConfigNode>> entries) {
  ConfigNode map = ConfigNode::map();
  map.entries = std::move(entries);
  return map;
}

/// The name in a section of the run's configuration; empty if there is none.
std::string name_in_run(const ConfigNode& config, const char* section) {
  const ConfigNode* part = config.find(section);
  const ConfigNode* name =
      part != nullptr && part->is_map() ? part->find("name") : nullptr;
  return name == nullptr ? "" : name->scalar;
}

/// The hub's entry of what was measured on a split.
ConfigNode result_of(const MeasuredSplit& measured, const std::string& data) {
  const auto& [split, found] = measured;
  ConfigNode metrics;
  metrics.kind = ConfigNode::Kind::kList;
  for (const StoredMetric& metric : found.metrics) {
    if (metric.is_list() || std::isnan(metric.value)) continue;
    metrics.items.push_back(
        map_of({{"type", ConfigNode::text(metric.name)},
                {"value", ConfigNode::text(Json(metric.value).dump())}}));
  }
  const auto text = [](const std::string& value) {
    return ConfigNode::text(value);
  };
  return map_of({{"task", map_of({{"type", text("image-feature-extraction")}})},
                 {"dataset", map_of({{"name", text(data)},
                                     {"type", text(data)},
                                     {"split", text(split)}})},
                 {"metrics", metrics}});
}

std::vector<std::string> metric_names_of(
    const std::vector<MeasuredSplit>& splits) {
  std::vector<std::string> names;
  if (splits.empty()) return names;
  for (const StoredMetric& metric : splits.front().second.metrics) {
    if (!metric.is_list() && !std::isnan(metric.value)) {
      names.push_back(metric.name);
    }
  }
  return names;
}

/// What the hub reads. There is no license: that is the publisher's to say.
std::string front_text(const PublishedForm& form, const std::string& title,
                       const std::string& data,
                       const std::vector<MeasuredSplit>& splits) {
  ConfigNode front = ConfigNode::map();
  front.set("library_name", ConfigNode::text(form.network.library));
  front.set("pipeline_tag", ConfigNode::text("image-feature-extraction"));
  front.set("tags",
            list_of_texts({"image-feature-extraction", form.network.library,
                           "image-retrieval", "metric-learning", "kith"}));
  const std::vector<std::string> names = metric_names_of(splits);
  if (!names.empty()) {
    front.set("metrics", list_of_texts(names));
    ConfigNode results;
    results.kind = ConfigNode::Kind::kList;
    for (const MeasuredSplit& split : splits) {
      results.items.push_back(result_of(split, data));
    }
    ConfigNode index;
    index.kind = ConfigNode::Kind::kList;
    index.items.push_back(
        map_of({{"name", ConfigNode::text(title)}, {"results", results}}));
    front.set("model-index", index);
  }
  return "---\n" + to_yaml(front) + "---\n";
}

/// The parts of the run's configuration that made the weights what they are,
/// without those that say where files lie.
std::string training_text(const LoadedModel& model,
                          const ChosenCheckpoint& checkpoint) {
  ConfigNode told = ConfigNode::map();
  const std::string data = name_in_run(model.config, "data");
  if (!data.empty()) told.set("data", ConfigNode::text(data));
  for (const char* section :
       {"loss", "miner", "sampler", "augment", "optimizer", "schedule"}) {
    const ConfigNode* part = model.config.find(section);
    if (part != nullptr && part->kind != ConfigNode::Kind::kNull) {
      told.set(section, *part);
    }
  }
  if (told.find("loss") == nullptr) return "";
  const ConfigNode* weights = model.config.find("model")->find("weights");
  std::string text = "\n## Training\n\n";
  if (weights != nullptr && !weights->scalar.empty()) {
    text += "It started from `" +
            std::filesystem::path(weights->scalar).filename().string() + "`. ";
  }
  if (checkpoint.epoch >= 0) {
    text += "These are the weights after epoch " +
            std::to_string(checkpoint.epoch) + ", step " +
            std::to_string(checkpoint.step) + ". ";
  }
  return text + "The run's configuration:\n\n```yaml\n" + to_yaml(told) +
         "```\n";
}

std::string pictures_text(const InputOptions& input) {
  std::string text = "\n## Pictures\n\n";
  const Json preprocessing = Json::parse(preprocessing_text(input));
  int number = 0;
  for (const Json& step : preprocessing.at("steps")) {
    text += std::to_string(++number) + ". " + step.get<std::string>() + "\n";
  }
  return text + "\n`mean` is " + Json(input.mean).dump() + ", `std` " +
         Json(input.std).dump() + ".\n";
}

/// In what kith's own embedding of a picture is another one.
std::string descriptor_text(const LoadedModel& model) {
  const DescriptorOptions descriptor = model_descriptor(model);
  std::string text;
  if (!descriptor.is_plain()) {
    text +=
        "\nThe metrics are of means over several pictures of an image (scales, "
        "mirror image); the code embeds one.\n";
  }
  if (descriptor.dim > 0) {
    text += "\nThe metrics are of the first " + std::to_string(descriptor.dim) +
            " numbers, made unit vectors.\n";
  }
  return text;
}

}  // namespace

std::string model_card(const LoadedModel& model, const ExportSource& source,
                       const PublishedForm& form) {
  EmbeddingNet& net = *model.net;
  const std::string data = name_in_run(model.config, "data");
  const std::string title =
      form.network.name + (data.empty() ? "" : " for " + data);
  const std::vector<MeasuredSplit> splits = measured_splits(source.checkpoint);
  std::string text = front_text(form, title, data, splits);
  text += "\n# " + title + "\n\nIt makes of a picture a vector of " +
          std::to_string(net.dim()) +
          " numbers; of pictures that belong together, the\nvectors are near "
          "each other by inner product. The backbone is " +
          form.network.library + "'s\n`" + form.network.name + "`, " +
          (data.empty() ? "" : "trained and ") + "exported by kith " +
          source.version + ".\n";
  text += nested_text(net);
  const std::string measured = measured_text(splits);
  if (!measured.empty()) {
    text += "\n## Metrics\n\nMeasured by its training, by split:\n\n" +
            measured + descriptor_text(model);
  }
  text += training_text(model, source.checkpoint);
  text += pictures_text(net.input());
  text += "\n## In Python\n\n`model.safetensors` is the backbone";
  if (!net.head().parameters().empty()) {
    text += ", `head.safetensors` what comes behind it";
  }
  return text + ".\n\n```python\n" + python_text(net, form) + "```\n";
}

}  // namespace kith
