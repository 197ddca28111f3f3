#include "kith/models/published_network.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "kith/core/config_json.h"
#include "kith/core/error.h"
#include "kith/core/options.h"
#include "kith/core/quote.h"
#include "kith/data/input.h"
#include "kith/models/backbone.h"
#include "kith/models/published_config.h"
#include "kith/models/published_name.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

/// What an input section is made of; nothing: not said, or not asked for.
struct PublishedInput {
  std::optional<int64_t> size;
  std::optional<int64_t> resize;
  std::optional<std::string> filter;
  std::optional<std::string> colour;
  std::vector<double> mean;
  std::vector<double> std;
};

/// What the user says of the input himself.
class OwnInput {
 public:
  explicit OwnInput(const ConfigNode& model) : section_(model.find("input")) {}

  bool says(const char* key) const {
    return section_ != nullptr && section_->is_map() &&
           section_->find(key) != nullptr;
  }
  /// A size of another goes with none of theirs.
  bool says_size() const { return says("size") || says("long_side"); }

 private:
  const ConfigNode* section_;
};

[[noreturn]] void refuse_input(const std::string& path, const std::string& what,
                               const char* key) {
  throw DataError(path + ": " + what + "; set 'model.input." + key +
                  "' to what comes nearest");
}

/// A side of pictures: a number, or the sides of a square. Nothing if it is
/// neither.
std::optional<int64_t> side_in(const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_array() && value.size() >= 2 &&
      value.back().is_number_integer() &&
      value.back() == value[value.size() - 2]) {
    return value.back().get<int64_t>();
  }
  if (!value.is_object() || !value.contains("height") ||
      !value.contains("width") || value["height"] != value["width"] ||
      !value["height"].is_number_integer()) {
    return std::nullopt;
  }
  return value["height"].get<int64_t>();
}

/// How many pixels the short side has before the centre is cut out.
int64_t before_crop(int64_t size, double share) {
  return static_cast<int64_t>(
      std::floor(static_cast<double>(size) / std::max(share, 0.01)));
}

/// Pillow's number of a filter, or its name.
std::string filter_of(const PublishedConfig& config, const char* key) {
  const Json& value = *config.find(key);
  std::string name;
  if (value.is_string()) name = value.get<std::string>();
  if (value == 2) name = "bilinear";
  if (value == 3) name = "bicubic";
  if (name == "bilinear" || name == "bicubic") return name;
  refuse_input(config.path(),
               quote(std::string(key)) + " is " + value.dump() +
                   ", a filter that kith does not have (bilinear, bicubic)",
               "filter");
}

/// Sizes of a preprocessor_config.json: {shortest_edge: n} keeps the shape,
/// {height: n, width: n} does not, and a number depends on what comes next.
void read_sizes(const PublishedConfig& config, PublishedInput& input) {
  const Json* size = config.find("size");
  const Json* crop = config.find("crop_size");
  if (size == nullptr || !config.truth("do_resize", true)) return;
  const bool crops = config.truth("do_center_crop", crop != nullptr) &&
                     crop != nullptr && side_in(*crop).has_value();
  const bool keeps_shape =
      size->is_object() ? size->contains("shortest_edge") : crops;
  const Json& edge =
      size->is_object() && keeps_shape ? (*size)["shortest_edge"] : *size;
  const std::optional<int64_t> side = side_in(edge);
  if (!side) {
    refuse_input(
        config.path(),
        "'size' is " + size->dump() + ", and kith takes square pictures",
        "size");
  }
  constexpr int64_t kWarped = 384;  // ConvNeXt's do not crop from here on
  if (crops) {
    input.size = *side_in(*crop);
    input.resize = keeps_shape ? *side : 0;
  } else if (config.has("crop_pct") && *side < kWarped) {
    input.size = *side;
    input.resize = before_crop(*side, config.number("crop_pct", 1));
  } else {
    input.size = *side;
    input.resize = 0;
  }
}

/// Mean and std of values in [0, 1], where the file may scale otherwise.
void read_scale(const PublishedConfig& config, PublishedInput& input) {
  input.mean = config.numbers("image_mean", {});
  input.std = config.numbers("image_std", {});
  if (!config.truth("do_normalize", true)) {
    input.mean = {0, 0, 0};
    input.std = {1, 1, 1};
  }
  if (input.mean.size() != input.std.size()) {
    throw DataError(config.path() +
                    ": 'image_mean' and 'image_std' have different lengths");
  }
  // x / 255 -> x factor - offset, then (y - mean) / std, which EfficientNet's
  // does once more, without the mean.
  const double factor = config.truth("do_rescale", true)
                            ? 255 * config.number("rescale_factor", 1.0 / 255)
                            : 255;
  const double offset = config.truth("rescale_offset", false) ? 1 : 0;
  const bool twice = config.truth("include_top", false);
  if (!(factor > 0)) {
    throw DataError(config.path() + ": 'rescale_factor' must be above 0");
  }
  for (size_t i = 0; i < input.mean.size(); ++i) {
    input.mean[i] = (input.mean[i] + offset) / factor;
    input.std[i] *= (twice ? input.std[i] : 1) / factor;
  }
}

PublishedInput read_preprocessing(const std::string& path,
                                  const OwnInput& own) {
  const Json json = read_published_json(path);
  const PublishedConfig config(path, json);
  PublishedInput input;
  if (!own.says_size()) read_sizes(config, input);
  if (config.has("resample") && !own.says("filter"))
    input.filter = filter_of(config, "resample");
  read_scale(config, input);
  return input;
}

/// timm's `pretrained_cfg`.
PublishedInput read_timm_input(const PublishedConfig& config,
                               const OwnInput& own) {
  PublishedInput input;
  const Json* size = config.find("input_size");
  if (size != nullptr && size->is_array() && size->size() == 3 &&
      size->front() == 1) {
    input.colour = "grey";
  }
  if (size != nullptr && !own.says_size()) {
    input.size = side_in(*size);
    if (!input.size) {
      refuse_input(config.path(),
                   "'input_size' is " + size->dump() +
                       ", and kith takes square pictures",
                   "size");
    }
    const std::string mode = config.text("crop_mode", "center");
    const bool squashes = mode == "squash";
    if (!squashes && mode != "center") {
      refuse_input(config.path(), "'crop_mode' is " + quote(mode), "resize");
    }
    input.resize =
        squashes ? 0
                 : before_crop(*input.size, config.number("crop_pct", 0.875));
  }
  if (config.has("interpolation") && !own.says("filter")) {
    input.filter = filter_of(config, "interpolation");
  }
  input.mean = config.numbers("mean", {});
  input.std = config.numbers("std", {});
  return input;
}

ConfigNode list_of(const std::vector<double>& values) {
  ConfigNode list;
  list.kind = ConfigNode::Kind::kList;
  for (const double value : values) {
    list.items.push_back(ConfigNode::text(Json(value).dump()));
  }
  return list;
}

ConfigNode section_of(const PublishedInput& input, const OwnInput& own) {
  ConfigNode section = ConfigNode::map();
  const auto set = [&](const char* key, ConfigNode value) {
    if (!own.says(key)) section.set(key, std::move(value));
  };
  const auto number = [](int64_t value) {
    return ConfigNode::text(std::to_string(value));
  };
  if (input.size) set("size", number(*input.size));
  if (input.resize) set("resize", number(*input.resize));
  if (input.filter) set("filter", ConfigNode::text(*input.filter));
  if (input.colour) set("colour", ConfigNode::text(*input.colour));
  if (!input.mean.empty()) set("mean", list_of(input.mean));
  if (!input.std.empty()) set("std", list_of(input.std));
  return section;
}

/// The part about pictures of a model that has another about text.
const Json& vision_part(const Json& config) {
  const auto vision = config.find("vision_config");
  return vision != config.end() && vision->is_object() ? *vision : config;
}

std::string model_type_of(const std::string& path, const Json& whole) {
  const Json& vision = vision_part(whole);
  const std::string type = PublishedConfig(path, vision).text("model_type", "");
  if (&vision == &whole || !type.empty()) return type;
  return PublishedConfig(path, whole).text("model_type", "") + "_vision_model";
}

/// What kith wrote beside timm's own keys: the whole section.
const Json* own_backbone(const Json& config) {
  const auto own = config.find("kith");
  if (own == config.end() || !own->is_object()) return nullptr;
  const auto backbone = own->find("backbone");
  const bool is_section = backbone != own->end() && backbone->is_object();
  return is_section ? &*backbone : nullptr;
}

/// By a name of timm, which may have its weights behind a dot: they make
/// another network of "vit_small_patch16_224.dino", of most others they do not.
ConfigNode timm_backbone(const PublishedConfig& config) {
  const std::string name = config.text("architecture", "");
  const Json* arguments = config.find("model_args");
  if (arguments != nullptr && !arguments->empty()) {
    throw DataError(config.path() + ": 'model_args' " + arguments->dump() +
                    " changes the network " + quote(name) +
                    "; say in 'model.backbone' which one it is");
  }
  const std::string base = backbone_registry().contains(name)
                               ? name
                               : name.substr(0, name.find('.'));
  if (!backbone_registry().contains(base)) {
    const std::string nearest = nearest_name(base, backbone_registry().names());
    throw DataError(
        config.path() + ": 'architecture' is " + quote(name) +
        ", a network that kith does not have" +
        (nearest.empty() ? "" : "; the nearest is " + quote(nearest)) +
        " (see: kith list backbones)");
  }
  ConfigNode section = timm_section(base);
  // Classes of CLIP's networks are their projection.
  const ConfigNode all =
      backbone_registry().complete(section, "model.backbone");
  const ConfigNode* projection = all.find("projection");
  if (config.integer("num_classes", 1) == 0 && projection != nullptr &&
      projection->scalar != "0") {
    section.set("projection", ConfigNode::text("0"));
  }
  return section;
}

}  // namespace

PublishedNetwork describe_published(const WeightFiles& files,
                                    const ConfigNode& user) {
  const OwnInput own(user);
  PublishedNetwork network;
  PublishedInput input;
  if (!files.config.empty()) {
    const Json json = read_published_json(files.config);
    const PublishedConfig config(files.config, json);
    const PublishedConfig vision(files.config, vision_part(json));
    if (user.find("backbone") == nullptr) {
      if (const Json* section = own_backbone(json)) {
        network.backbone = config_of(*section, files.config);
      } else if (config.has("architecture")) {
        network.backbone = timm_backbone(config);
      } else if (config.has("model_type")) {
        network.backbone =
            read_published(model_type_of(files.config, json), vision);
      }
    }
    const Json* timm = config.find("pretrained_cfg");
    const Json* size = vision.find("image_size");
    if (timm != nullptr && timm->is_object()) {
      input = read_timm_input(PublishedConfig(files.config, *timm), own);
    } else if (size != nullptr && !own.says_size()) {
      input.size = side_in(*size);
    }
  }
  if (!files.preprocessing.empty()) {
    const std::optional<int64_t> size = input.size;
    input = read_preprocessing(files.preprocessing, own);
    if (!input.size) input.size = size;
  }
  network.input = section_of(input, own);
  return network;
}

}  // namespace kith
