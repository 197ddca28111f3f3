#include "kith/train/checkpoint.h"

#include <filesystem>
#include <set>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/safetensors.h"
#include "kith/core/tensor_io.h"

namespace kith {
namespace {

constexpr const char* kConfigKey = "kith.config";
constexpr const char* kProgressKey = "kith.progress";

constexpr const char* kModel = "model.";

/// Everything a checkpoint holds, by its name in the file.
NamedTensors all_tensors(const CheckpointParts& parts) {
  NamedTensors all;
  for (const auto& [name, tensor] : parts.net.state()) {
    all.emplace_back(kModel + name, tensor);
  }
  if (parts.optimizer == nullptr) return all;
  all.insert(all.end(), parts.others.begin(), parts.others.end());
  for (const auto& [name, tensor] : parts.optimizer->state()) {
    all.emplace_back("optimizer." + name, tensor);
  }
  return all;
}

/// A checkpoint must have exactly the wanted tensors of the parts it is asked
/// for; all but the network may be left unread.
void check_names(const SafetensorsFile& file, const NamedTensors& wanted,
                 bool model_only) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : wanted) {
    names.insert(name);
    if (file.find(name) == nullptr) {
      throw DataError(file.path() + ": tensor '" + name + "' is missing");
    }
  }
  for (const SafetensorsEntry& entry : file.entries()) {
    const bool skipped = model_only && !entry.name.starts_with(kModel);
    if (!skipped && !names.count(entry.name)) {
      throw DataError(file.path() + ": tensor '" + entry.name +
                      "' is not part of this model");
    }
  }
}

}  // namespace

void save_checkpoint(const std::string& path, const CheckpointParts& parts,
                     const ConfigNode& config, const std::string& progress) {
  NamedTensors plain;  // owns the memory the views point to
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const auto& [name, tensor] : all_tensors(parts)) {
    plain.emplace_back(name, tensor.detach().cpu().contiguous());
    views.emplace_back(name, view_of(plain.back().second));
  }
  write_safetensors(path, views,
                    {{kConfigKey, to_yaml(config)}, {kProgressKey, progress}});
}

CheckpointInfo read_checkpoint_info(const std::string& path) {
  const SafetensorsFile file(path);
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
  NamedTensors wanted = all_tensors(parts);
  check_names(file, wanted, /*model_only=*/parts.optimizer == nullptr);
  for (auto& [name, tensor] : wanted) {
    const Tensor stored = to_tensor(file.read(name));
    if (stored.sizes() != tensor.sizes() ||
        stored.scalar_type() != tensor.scalar_type()) {
      throw DataError(path + ": tensor '" + name +
                      "' has another shape or type than the model's");
    }
    tensor.copy_(stored);
  }
}

WeightReport start_from_checkpoint(const std::string& path, EmbeddingNet& net) {
  read_checkpoint_info(path);  // is it a checkpoint of kith?
  const SafetensorsFile file(path);
  NamedTensors weights;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (entry.name.starts_with(kModel)) {
      weights.emplace_back(entry.name.substr(std::string(kModel).size()),
                           to_tensor(file.read(entry.name)));
    }
  }
  return copy_weights(path, weights, net.state());
}

std::string find_checkpoint(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return path;
  const std::string last = path + "/checkpoints/last.safetensors";
  if (!std::filesystem::exists(last)) {
    throw DataError(path + ": no run of kith here (" + last +
                    " does not exist)");
  }
  return last;
}

LoadedModel load_model(const std::string& path, c10::Device device) {
  const std::string file = find_checkpoint(path);
  LoadedModel model;
  model.config = read_checkpoint_info(file).config;
  const ConfigNode* section = model.config.find("model");
  if (section == nullptr) {
    throw DataError(file + ": its configuration has no 'model'");
  }
  model.net = std::make_unique<EmbeddingNet>(*section);
  load_checkpoint(file, {*model.net});
  model.net->use_device(device);
  model.net->apply_precision();
  model.net->eval();
  return model;
}

}  // namespace kith
