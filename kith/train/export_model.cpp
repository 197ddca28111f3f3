#include "kith/train/export_model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/config_json.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/json_text.h"
#include "kith/core/path.h"
#include "kith/models/weights_hash.h"
#include "kith/run/run_place.h"
#include "kith/train/measured_text.h"
#include "kith/train/model_embedding.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kModelJson = "model.json";
constexpr const char* kPreprocessing = "preprocessing.json";
constexpr const char* kReadme = "README.md";
constexpr const char* kOnnx = "model.onnx";
constexpr const char* kOnnxData = "model.onnx.data";

/// Whether a file has a name that export_model() gives, also on its way.
bool is_export_file(const std::string& name) {
  return name == kExportedWeights || name == kModelJson ||
         name == kPreprocessing || name == kReadme || name == kOnnx ||
         name == kOnnxData || is_temporary_file(name);
}

constexpr int kFormatVersion = 1;

/// The name of a part of a configuration, or null if it has none.
Json name_in(const ConfigNode& config, const char* section) {
  const ConfigNode* part = config.find(section);
  const ConfigNode* name =
      part != nullptr && part->is_map() ? part->find("name") : nullptr;
  return name == nullptr ? Json() : Json(name->scalar);
}

Json backbone_json(const LoadedModel& model) {
  const ConfigNode section = complete_model(*model.config.find("model"));
  Json json = config_json(*section.find("backbone"));
  json["features"] = model.net->backbone().features();
  return json;
}

/// The steps in the order in which the head does them. gem_p is as learnt.
Json head_json(EmbeddingNet& net) {
  const HeadOptions& options = net.head().options();
  Json json = {{"pooling", options.pooling}};
  if (options.pooling == "gem") {
    json["gem_p"] = net.head().named_parameters()["gem_p"].item<float>();
    json["gem_minimum"] = 1e-6;
  }
  json["l2_before"] = options.l2_before;
  json["layer_norm"] = options.layer_norm;
  if (options.layer_norm != "none") {
    json["layer_norm_affine"] = options.layer_norm_affine;
    json["layer_norm_eps"] = 1e-5;
  }
  if (options.dim > 0) {
    json["linear"] = {options.dim, net.pooled_dim()};
  }
  json["l2"] = options.l2;
  if (const auto sizes = nested_sizes(options, net.dim()); !sizes.empty()) {
    json["nested"] = sizes;
  }
  return json;
}

/// How `kith embed` makes an embedding of several pictures of an image, or cuts
/// it, where the run's evaluation did; a single one is what preprocessing.json
/// says.
Json descriptor_json(const LoadedModel& model) {
  const DescriptorOptions options = model_descriptor(model);
  Json json = {{"scales", options.scales},
               {"long_side", options.long_side},
               {"flip", options.flip}};
  if (options.dim > 0) json["dim"] = options.dim;
  return json;
}

Json weights_json(const EmbeddingNet& net) {
  int64_t parameters = 0;
  for (const Tensor& tensor : net.parameters()) parameters += tensor.numel();
  const NamedTensors state = net.state();
  return {{"file", kExportedWeights},
          {"tensors", state.size()},
          {"parameters", parameters},
          {"sha256_of_tensors", weights_hash(state)}};
}

std::string resize_step(const InputOptions& input) {
  const std::string size = std::to_string(input.size);
  const std::string how =
      " (" + input.filter +
      ", antialiased: the weights and the rounding of Pillow's Image.resize)";
  if (input.any_shape()) {
    const std::string side = std::to_string(input.long_side);
    return "Where the long side exceeds " + side +
           " pixels, take the size with long side " + side +
           " that keeps the shape (that of Pillow's Image.thumbnail); round "
           "both sides to the nearest multiple of " +
           std::to_string(input.multiple) + ", at least one; resize to it" +
           how + ".";
  }
  if (input.resize == 0) {
    return "Resize to " + size + " x " + size + " pixels, whatever the shape" +
           how + ".";
  }
  return "Resize so that the short side has " + std::to_string(input.resize) +
         " pixels and the long side, rounded down, keeps the shape" + how +
         "; cut out the centre of " + size + " x " + size +
         " pixels (torchvision's Resize and CenterCrop).";
}

Json steps_of(const InputOptions& input) {
  Json steps = {
      "Decode to 8 bits a channel; lay transparency on white; turn a JPEG "
      "upright by its EXIF orientation.",
      input.channels() == 1
          ? "Convert to grey by the weights of ITU-R 601 (Pillow's mode L)."
          : "Convert to RGB; grey becomes three equal channels.",
      resize_step(input)};
  if (input.colour == "bgr") {
    steps.push_back("Reverse the order of the channels to blue, green, red.");
  }
  steps.push_back(
      "Divide by 255, subtract `mean` and divide by `std`, channel by channel "
      "in that order.");
  steps.push_back(
      "Order the values as float32 [picture, channel, row, column].");
  return steps;
}

/// Whether examples/embed_one_image.py has the network.
bool is_known_to_python(const LoadedModel& model) {
  static const std::set<std::string> known = {"mobilenet_v2", "resnet18",
                                              "resnet34",     "resnet50",
                                              "resnet101",    "resnet152"};
  const ConfigNode section = complete_model(*model.config.find("model"));
  const ConfigNode& backbone = *section.find("backbone");
  ConfigNode plain = ConfigNode::map();
  plain.set("name", *backbone.find("name"));
  plain = backbone_registry().complete(plain, "model.backbone");
  return model.net->input().channels() == 3 &&
         known.count(backbone.find("name")->scalar) > 0 &&
         to_yaml(backbone) == to_yaml(plain);
}

constexpr const char* kPythonText = R"(
From Python, without kith: `embed_one_image.py` among kith's examples reads the
weights into torchvision's network and gives )";

constexpr const char* kPythonCommand = R"(

    python3 embed_one_image.py THIS_FOLDER picture.jpg
)";

constexpr const char* kDescriptorText = R"(
The vectors of kith are means over several pictures of an image, at the scales
and with the mirror images that `descriptor` in `model.json` tells; what
`preprocessing.json` says makes one of them, and so another vector.
)";

/// model.json: what the network is and where it comes from.
std::string model_text(const LoadedModel& model, const ExportSource& source) {
  const ModelOptions& options = model.net->options();
  const ChosenCheckpoint& checkpoint = source.checkpoint;
  Json training = {{"data", name_in(model.config, "data")},
                   {"loss", name_in(model.config, "loss")},
                   {"checkpoint", checkpoint.file}};
  if (!checkpoint.name.empty()) training["checkpoint_name"] = checkpoint.name;
  if (checkpoint.epoch >= 0) {
    training["epoch"] = checkpoint.epoch;
    training["step"] = checkpoint.step;
  }
  const Json json = {{"format", "kith export"},
                     {"format_version", kFormatVersion},
                     {"kith_version", source.version},
                     {"backbone", backbone_json(model)},
                     {"head", head_json(*model.net)},
                     {"dim", model.net->dim()},
                     {"batch_norm", options.bn},
                     {"precision", options.precision},
                     {"descriptor", descriptor_json(model)},
                     {"training", training},
                     {"weights", weights_json(*model.net)}};
  return json_text(json) + "\n";
}

/// README.md. It tells of the example in Python only where that knows the
/// network.
std::string readme_text(const LoadedModel& model, const ExportSource& source) {
  const bool is_plain = model_descriptor(model).is_plain();
  std::string text =
      "# An embedding network, exported by kith\n\n"
      "It makes of a picture a vector of " +
      std::to_string(model.net->dim()) + " numbers" +
      R"(; of pictures that belong
together, the vectors are near each other by inner product.
)" + nested_text(*model.net) +
      R"(
| file | what |
|---|---|
| `model.safetensors` | the weights |
| `model.json` | backbone and head, and where they come from |
| `preprocessing.json` | what is done to a picture first, step by step |
)";
  if (source.write_onnx)
    text += "| `model.onnx` | the network for clients of ONNX |\n";
  text += R"(
With kith, wherever it wants a model, this folder will do:

    kith embed THIS_FOLDER --images pictures --out emb.npy --ids ids.txt
    kith index THIS_FOLDER --images pictures --out index.faiss
    kith serve --model THIS_FOLDER --index index.faiss

From C++, with kith's library:

    const auto model = kith::load_model("THIS_FOLDER", at::kCPU);
    const auto vector =
        kith::embed_image(model, kith::decode_image("picture.jpg"));
)";
  if (!is_plain) text += kDescriptorText;
  if (is_known_to_python(model)) {
    text += kPythonText;
    text += is_plain ? "the same numbers." : "the vector of one picture.";
    text += kPythonCommand;
  }
  const std::string measured =
      measured_text(measured_splits(source.checkpoint));
  if (!measured.empty()) {
    text += "\nWhat its training measured of it, by split:\n\n" + measured;
  }
  return text;
}

}  // namespace

std::string nested_text(EmbeddingNet& net) {
  std::vector<int64_t> sizes = nested_sizes(net.head().options(), net.dim());
  if (sizes.empty()) return "";
  sizes.pop_back();
  std::vector<std::string> words;
  for (const int64_t size : sizes) words.push_back(std::to_string(size));
  return "The first " + join(words, " or ") +
         " numbers, made a unit vector again, serve by themselves.\n";
}

std::string preprocessing_text(const InputOptions& input) {
  const Json json = {{"format_version", kFormatVersion},
                     {"colour", input.colour},
                     {"channels", input.channels()},
                     {"size", input.size},
                     {"resize", input.resize},
                     {"long_side", input.long_side},
                     {"multiple", input.multiple},
                     {"filter", input.filter},
                     {"value_range", {0, 1}},
                     {"mean", input.mean},
                     {"std", input.std},
                     {"steps", steps_of(input)}};
  return json.dump(2) + "\n";
}

void export_model(const LoadedModel& model, const ExportSource& source,
                  const std::string& folder) {
  // First, for it reads the configuration, which may be wrong.
  const std::string description = model_text(model, source);
  const std::string readme = readme_text(model, source);
  make_folders(folder);
  const fs::path out(folder);
  for (const char* name : {kModelJson, kOnnx, kOnnxData}) {
    remove_file(out / name);
  }
  ConfigNode config = model.config;
  forget_start(config);
  save_model((out / kExportedWeights).string(), *model.net, config);
  write_file_atomically((out / kPreprocessing).string(),
                        preprocessing_text(model.net->input()));
  write_file_atomically((out / kReadme).string(), readme);
  if (source.write_onnx) source.write_onnx((out / kOnnx).string());
  write_file_atomically((out / kModelJson).string(), description);
}

bool is_export(const std::string& folder) {
  const fs::path path(folder);
  if (!is_saved_model((path / kExportedWeights).string())) return false;
  return is_file(path / kModelJson) || has_export_alone(folder);
}

bool has_export_alone(const std::string& folder) {
  const std::vector<std::string> names = names_in(folder);
  return std::all_of(names.begin(), names.end(), is_export_file);
}

ChosenCheckpoint origin_of(const ChosenCheckpoint& checkpoint) {
  const fs::path file(checkpoint.file);
  const fs::path description = file.parent_path() / kModelJson;
  if (file.filename() != kExportedWeights || !is_saved_model(checkpoint.file) ||
      !is_file(description)) {
    return checkpoint;
  }
  constexpr int64_t kMostBytes = 1 << 20;
  if (bytes_of(description) > kMostBytes) return checkpoint;
  try {
    const nlohmann::json training =
        parse_json(read_file(description.string(), kMostBytes)).at("training");
    ChosenCheckpoint origin{training.at("checkpoint").get<std::string>()};
    origin.name = training.value("checkpoint_name", "");
    origin.epoch = training.value("epoch", int64_t{-1});
    origin.step = training.value("step", int64_t{-1});
    return origin;
  } catch (const nlohmann::json::exception&) {
    return checkpoint;
  }
}

}  // namespace kith
