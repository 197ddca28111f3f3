#include "kith/run/checkpoint.h"

#include <map>
#include <set>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/models/weight_files.h"
#include "kith/models/weights_hash.h"
#include "kith/ops/finite.h"
#include "kith/run/previous_checkpoint.h"
#include "kith/run/run_folder.h"

namespace kith {
namespace {

constexpr const char* kConfigKey = "kith.config";
constexpr const char* kProgressKey = "kith.progress";

/// In an export: the version of its format, and the hash that model.json has
/// too, by which a reader knows that the two belong together.
constexpr const char* kExportKey = "kith.export";
constexpr const char* kExportVersion = "1";
constexpr const char* kHashKey = "kith.sha256_of_tensors";

constexpr const char* kModel = "model.";
constexpr const char* kRaw = "raw.";

void check_version(const SafetensorsFile& file) {
  const auto version = file.metadata().find(kExportKey);
  if (version == file.metadata().end() || version->second == kExportVersion) {
    return;
  }
  throw DataError(file.path() + ": made by a later kith (export version " +
                  version->second + ", this one reads version " +
                  kExportVersion + "); read it with that kith");
}

/// What the names of the network's tensors start with in a file.
std::string model_prefix(const SafetensorsFile& file) {
  check_version(file);
  return file.metadata().contains(kExportKey) ? "" : kModel;
}

/// Everything a checkpoint holds, by its name in the file.
NamedTensors all_tensors(const CheckpointParts& parts,
                         const std::string& prefix) {
  NamedTensors all;
  if (parts.average != nullptr) {
    for (const auto& [name, tensor] : *parts.average) {
      all.emplace_back(prefix + name, tensor);
    }
  }
  const std::string own = parts.average == nullptr ? prefix : kRaw;
  for (const auto& [name, tensor] : parts.net.state()) {
    all.emplace_back(own + name, tensor);
  }
  if (parts.optimizer == nullptr) return all;
  all.insert(all.end(), parts.others.begin(), parts.others.end());
  for (const auto& [name, tensor] : *parts.optimizer) {
    all.emplace_back("optimizer." + name, tensor);
  }
  return all;
}

/// What a tensor of a file is called now: backbones had other names in earlier
/// versions. "optimizer.exp_avg.backbone.norm.weight" is of the backbone too.
std::string present_name(const std::string& stored, EmbeddingNet& net) {
  const std::string part = "backbone.";
  size_t at = stored.find(part);
  if (at == std::string::npos || (at > 0 && stored[at - 1] != '.')) {
    return stored;
  }
  at += part.size();
  return stored.substr(0, at) + net.backbone().present_name(stored.substr(at));
}

/// The names in a file by what they are called now.
std::map<std::string, std::string> names_in(const SafetensorsFile& file,
                                            EmbeddingNet& net) {
  std::map<std::string, std::string> names;
  for (const SafetensorsEntry& entry : file.entries()) {
    names.emplace(present_name(entry.name, net), entry.name);
  }
  return names;
}

/// A checkpoint must have exactly the wanted tensors of the parts it is asked
/// for; all but the network may be left unread.
void check_names(const SafetensorsFile& file,
                 const std::map<std::string, std::string>& names,
                 const NamedTensors& wanted, bool model_only) {
  const std::string prefix = model_prefix(file);
  std::set<std::string> known;
  for (const auto& [name, tensor] : wanted) {
    known.insert(name);
    if (!names.contains(name)) {
      throw DataError(file.path() + ": tensor '" + name + "' is missing");
    }
  }
  for (const auto& [name, stored] : names) {
    const bool skipped = model_only && !name.starts_with(prefix);
    if (!skipped && !known.contains(name)) {
      throw DataError(file.path() + ": tensor '" + stored +
                      "' is not part of this model");
    }
  }
}

void write_tensors(const std::string& path, const NamedTensors& tensors,
                   const std::map<std::string, std::string>& metadata) {
  NamedTensors plain;  // owns the memory the views point to
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const auto& [name, tensor] : tensors) {
    plain.emplace_back(name, tensor.detach().cpu().contiguous());
    views.emplace_back(name, view_of(plain.back().second));
  }
  write_safetensors(path, views, metadata);
}

/// The head is made as large as the configuration says: a file that does not
/// have its weights is refused before the memory is taken.
void check_dim(const std::string& path, const ConfigNode& section) {
  const ConfigNode* node = section.find("head");
  const ConfigNode head = node == nullptr ? ConfigNode::map() : *node;
  const int64_t dim = read_options<HeadOptions>(head, "model.head").dim;
  if (dim == 0) return;  // no linear layer
  const SafetensorsFile file(path);
  const std::string name = model_prefix(file) + "head.linear.weight";
  const std::vector<int64_t>& shape = file.at(name).shape;
  if (shape.empty() || shape.front() != dim) {
    throw DataError(path + ": tensor '" + name +
                    "' does not have the rows of 'model.head.dim', " +
                    std::to_string(dim));
  }
}

std::unique_ptr<EmbeddingNet> make_net(const ConfigNode& section,
                                       const std::string& file) {
  const TensorLimit limit = limit_network(file, {file});
  return std::make_unique<EmbeddingNet>(section);
}

LoadedModel load_from_checkpoint(const std::string& file) {
  LoadedModel model;
  model.config = read_checkpoint_info(file).config;
  const ConfigNode* section = model.config.find("model");
  if (section == nullptr) {
    throw DataError(file + ": its configuration has no 'model'");
  }
  refuse_own_network(*section, file);
  check_dim(file, *section);
  model.net = make_net(*section, file);
  load_checkpoint(file, {*model.net});
  if (!model.net->options().lora.is_on()) return model;
  model.net = model.net->merged();
  ConfigNode plain = model.net->section();
  model.config.set("model", std::move(plain));
  return model;
}

/// Weights that are not the last ones of a training are told so.
void tell_average(const std::string& path, const ConfigNode& config) {
  const ConfigNode* train = config.find("train");
  const ConfigNode* ema = train == nullptr ? nullptr : train->find("ema");
  if (ema == nullptr || ema->scalar == "0") return;
  log_info(path + ": the moving average of the weights (train.ema: " +
           ema->scalar + ")");
}

/// Whether the network of a configuration has adapters.
bool has_lora(const ConfigNode& config) {
  const ConfigNode* model = config.find("model");
  const ConfigNode* lora = model == nullptr ? nullptr : model->find("lora");
  return lora != nullptr &&
         read_options<LoraOptions>(*lora, "model.lora").is_on();
}

/// Of a network with adapters what they make of its weights.
WeightReport copy_from_checkpoint(const std::string& path, EmbeddingNet& net) {
  const ConfigNode config = read_checkpoint_info(path).config;
  tell_average(path, config);
  if (has_lora(config)) {
    return copy_weights(path, load_from_checkpoint(path).net->state(),
                        net.state());
  }
  const SafetensorsFile file(path);
  const std::string prefix = model_prefix(file);
  NamedTensors weights;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (entry.name.starts_with(prefix)) {
      weights.emplace_back(present_name(entry.name, net).substr(prefix.size()),
                           to_tensor(file.read(entry.name)));
    }
  }
  return copy_weights(path, weights, net.state());
}

/// What reads a checkpoint; an error of one that is damaged says what to do.
template <class Action>
auto reading(const std::string& path, const Action& action) {
  try {
    return action();
  } catch (const DataError& error) {
    const std::string remedy = remedy_of_damage(path);
    if (remedy.empty()) throw;
    throw DataError(error.what() + remedy);
  }
}

/// "last, best", of those that a run's folder has, or "none".
std::string checkpoints_in(const RunFolder& folder) {
  std::vector<std::string> found;
  for (const char* which : {"last", "best"}) {
    if (path_exists(folder.checkpoint(which))) found.emplace_back(which);
  }
  return found.empty() ? "none" : join(found);
}

}  // namespace

void save_checkpoint(const std::string& path, const CheckpointParts& parts,
                     const ConfigNode& config, const std::string& progress) {
  write_tensors(path, all_tensors(parts, kModel),
                {{kConfigKey, to_yaml(config)}, {kProgressKey, progress}});
}

void save_model(const std::string& path, const EmbeddingNet& net,
                const ConfigNode& config) {
  const NamedTensors state = net.state();
  write_tensors(path, state,
                {{kConfigKey, to_yaml(config)},
                 {kExportKey, kExportVersion},
                 {kHashKey, weights_hash(state)}});
}

bool is_saved_model(const std::string& path) {
  if (!is_file(path)) return false;
  try {
    return SafetensorsFile(path).metadata().contains(kExportKey);
  } catch (const ReadError&) {
    throw;
  } catch (const DataError&) {  // a file of another kind
    return false;
  }
}

CheckpointInfo read_checkpoint_info(const std::string& path) {
  const SafetensorsFile file(path);
  check_version(file);
  const auto config = file.metadata().find(kConfigKey);
  const auto progress = file.metadata().find(kProgressKey);
  if (config == file.metadata().end()) {
    throw DataError(path +
                    ": not a checkpoint of kith (no configuration in "
                    "its metadata)");
  }
  return {parse_config(config->second, path),
          progress == file.metadata().end() ? "" : progress->second};
}

void load_checkpoint(const std::string& path, const CheckpointParts& parts) {
  const torch::NoGradGuard no_grad;
  const SafetensorsFile file(path);
  const std::string prefix = model_prefix(file);
  NamedTensors wanted = all_tensors(parts, prefix);
  const auto names = names_in(file, parts.net);
  check_names(file, names, wanted, /*model_only=*/parts.optimizer == nullptr);
  for (auto& [name, tensor] : wanted) {
    const Tensor stored = to_tensor(file.read(names.at(name)));
    if (stored.sizes() != tensor.sizes() ||
        stored.scalar_type() != tensor.scalar_type()) {
      throw DataError(path + ": tensor '" + name +
                      "' has another shape or type than the model's");
    }
    const bool is_weight = name.starts_with(prefix) || name.starts_with(kRaw) ||
                           name.starts_with("loss.");
    if (is_weight && !all_finite(stored)) {
      throw DataError(path + ": tensor '" + name +
                      "' has a NaN or infinite value: the training went "
                      "wrong; take another checkpoint, or train with a smaller "
                      "optimizer.lr or with train.clip_norm");
    }
    tensor.copy_(stored);
  }
}

WeightReport start_from_checkpoint(const std::string& path, EmbeddingNet& net) {
  return reading(path, [&] { return copy_from_checkpoint(path, net); });
}

std::string find_checkpoint(const std::string& path, const std::string& which) {
  if (!is_folder(path)) return path;
  const RunFolder folder(path);
  const std::string file = folder.checkpoint(which);
  if (path_exists(file)) return file;
  if (is_folder(folder.checkpoints())) {
    throw DataError(path + ": this run has no " + which + " checkpoint (" +
                    file +
                    " does not exist); it has: " + checkpoints_in(folder));
  }
  const std::string exported = path + "/" + kExportedWeights;
  if (which == "last" && path_exists(exported)) return exported;
  throw DataError(path + ": no run of kith here (" + file +
                  " does not exist), nor an export (" + exported + ")");
}

LoadedModel load_model(const std::string& path, c10::Device device) {
  const std::string file = find_checkpoint(path);
  LoadedModel model = reading(file, [&] { return load_from_checkpoint(file); });
  tell_average(file, model.config);
  model.net->use_device(device);
  model.net->apply_precision();
  model.net->eval();
  return model;
}

}  // namespace kith
