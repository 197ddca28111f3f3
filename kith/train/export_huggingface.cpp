#include "kith/train/export_huggingface.h"

#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/config_json.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json_text.h"
#include "kith/core/path.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/models/published_form.h"
#include "kith/train/model_card.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kConfig = "config.json";
constexpr const char* kHead = "head.safetensors";
constexpr const char* kCard = "README.md";
constexpr const char* kVersionKey = "kith_version";

/// What the other libraries' preparation of pictures cannot do.
void check_input(const InputOptions& input, const PublishedForm& form) {
  const std::string instead = "; export it with option 'onnx' instead";
  if (input.any_shape()) {
    throw ConfigError(
        "pictures of this network keep their shape (model.input.long_side), "
        "and " +
        form.network.library + " makes squares of them" + instead);
  }
  if (input.colour == "bgr") {
    throw ConfigError(
        "pictures of this network are blue, green, red (model.input.colour), "
        "and those of " +
        form.network.library + " red, green, blue" + instead);
  }
  if (input.channels() == 1 && form.network.library == "torchvision") {
    throw ConfigError(
        "pictures of this network are grey (model.input.colour), and "
        "torchvision's " +
        form.network.name + " takes colour alone" + instead);
  }
}

/// The share of the resized picture that timm cuts out: size / share, rounded
/// down, is `resize`.
double crop_share(int64_t size, int64_t resize) {
  const auto side = static_cast<double>(size);
  const auto whole = static_cast<double>(resize);
  const double share = side / whole;
  return std::floor(side / share) == whole ? share : side / (whole + 0.5);
}

Json pretrained_cfg(const InputOptions& input, const PublishedForm& form) {
  const bool crops = input.resize > 0;
  Json json = {{"input_size", {input.channels(), input.size, input.size}},
               {"fixed_input_size", form.has_positions},
               {"interpolation", input.filter},
               {"crop_pct", crops ? crop_share(input.size, input.resize) : 1.0},
               {"crop_mode", crops ? "center" : "squash"},
               {"mean", input.mean},
               {"std", input.std},
               {"num_classes", form.classes}};
  const PublishedName& network = form.network;
  if (!network.first_conv.empty()) json["first_conv"] = network.first_conv;
  if (!network.classifier.empty()) json["classifier"] = network.classifier;
  return json;
}

std::string config_text(EmbeddingNet& net, const PublishedForm& form,
                        const std::string& version) {
  Json json = {{"architecture", form.network.name},
               {"library_name", form.network.library},
               {"num_classes", form.classes},
               {"num_features", net.backbone().features()}};
  if (!form.network.arguments.entries.empty()) {
    json["model_args"] = config_json(form.network.arguments);
  }
  json["pretrained_cfg"] = pretrained_cfg(net.input(), form);
  json["kith"] = {{"version", version},
                  {"dim", net.dim()},
                  {"backbone", config_json(form.backbone)},
                  {"head", config_json(*net.section().find("head"))}};
  return json_text(json) + "\n";
}

void write_tensors(const fs::path& path, const NamedTensors& tensors,
                   const std::string& version) {
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const auto& [name, tensor] : tensors) {
    views.emplace_back(name, view_of(tensor));
  }
  // transformers reads no file without the format.
  write_safetensors(path.string(), views,
                    {{"format", "pt"}, {kVersionKey, version}});
}

NamedTensors head_tensors(EmbeddingNet& net) {
  NamedTensors tensors;
  for (const auto& entry : net.head().named_parameters()) {
    tensors.emplace_back(entry.key(),
                         entry.value().detach().cpu().contiguous());
  }
  return tensors;
}

bool is_own_file(const std::string& name) {
  return name == kConfig || name == kExportedWeights || name == kHead ||
         name == kCard || is_temporary_file(name);
}

}  // namespace

int64_t export_huggingface(const LoadedModel& model, const ExportSource& source,
                           const std::string& folder) {
  EmbeddingNet& net = *model.net;
  const PublishedForm form = published_form(net);
  check_input(net.input(), form);
  const std::string config = config_text(net, form, source.version);
  const std::string card = model_card(model, source, form);
  make_folders(folder);
  const fs::path out(folder);
  for (const char* name : {kConfig, kHead}) remove_file(out / name);
  write_tensors(out / kExportedWeights, form.weights, source.version);
  int64_t bytes = bytes_of(out / kExportedWeights);
  const NamedTensors head = head_tensors(net);
  if (!head.empty()) {
    write_tensors(out / kHead, head, source.version);
    bytes += bytes_of(out / kHead);
  }
  write_file_atomically((out / kCard).string(), card);
  write_file_atomically((out / kConfig).string(), config);
  return bytes;
}

bool is_huggingface_export(const std::string& folder) {
  const fs::path weights = fs::path(folder) / kExportedWeights;
  for (const std::string& name : names_in(folder)) {
    if (!is_own_file(name)) return false;
  }
  if (!is_file(weights)) return false;
  try {
    const SafetensorsFile file(weights.string());
    return file.metadata().contains(kVersionKey) &&
           !is_saved_model(weights.string());
  } catch (const ReadError&) {
    throw;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace kith
