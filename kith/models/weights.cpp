#include "kith/models/weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/pth.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/models/lora.h"
#include "kith/models/weight_files.h"
#include "kith/ops/finite.h"

namespace kith {
namespace {

// Under which training programs keep a model's weights, by preference.
constexpr std::string_view kWrappers[] = {
    "state_dict", "model_state_dict", "model", "net", "teacher", "student"};

// Left by DataParallel, by modules that hold the network, by torch.compile.
constexpr std::string_view kPrefixes[] = {"module.", "model.", "_orig_mod.",
                                          "backbone."};

struct Stripped {
  std::string name;
  int count = 0;  ///< Prefixes taken off.
};

Stripped strip(std::string_view name) {
  Stripped result;
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view prefix : kPrefixes) {
      if (name.size() > prefix.size() && name.starts_with(prefix)) {
        name.remove_prefix(prefix.size());
        ++result.count;
        again = true;
      }
    }
  }
  result.name = name;
  return result;
}

// Names without prefixes. Where two become the same, the one that lost fewest
// prefixes (then the first) has the name, and the other keeps its own.
std::vector<std::string> strip_all(const std::vector<std::string>& names) {
  std::vector<Stripped> stripped;
  std::map<std::string, size_t> owner;
  for (size_t i = 0; i < names.size(); ++i) {
    stripped.push_back(strip(names[i]));
    const auto [at, is_new] = owner.emplace(stripped[i].name, i);
    if (!is_new && stripped[i].count < stripped[at->second].count) {
      at->second = i;
    }
  }
  std::vector<std::string> result;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_owner = owner.at(stripped[i].name) == i;
    result.push_back(is_owner ? stripped[i].name : names[i]);
  }
  return result;
}

// The keys that lead to the weights: "state_dict" for {"state_dict": {...},
// "optimizer": {...}}. Tensors whose path starts otherwise are not weights.
std::vector<std::string> find_weights(const PthFile& file) {
  std::vector<std::string> root;
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view wrapper : kWrappers) {
      const auto& all = file.tensors();
      const bool found =
          std::any_of(all.begin(), all.end(), [&](const auto& t) {
            return t.path.size() > root.size() + 1 &&
                   std::equal(root.begin(), root.end(), t.path.begin()) &&
                   t.path[root.size()] == wrapper;
          });
      if (!found) continue;
      root.emplace_back(wrapper);
      again = true;
      break;
    }
  }
  return root;
}

NamedTensors read_pth(const std::string& path) {
  const PthFile file(path);
  const std::vector<std::string> root = find_weights(file);
  std::vector<std::string> names;
  NamedTensors tensors;
  for (const PthTensor& tensor : file.tensors()) {
    if (tensor.path.size() <= root.size() ||
        !std::equal(root.begin(), root.end(), tensor.path.begin())) {
      continue;
    }
    std::string name;
    for (size_t i = root.size(); i < tensor.path.size(); ++i) {
      name += (name.empty() ? "" : ".") + tensor.path[i];
    }
    names.push_back(std::move(name));
    tensors.emplace_back("", to_tensor(file.read(tensor)));
  }
  names = strip_all(names);
  for (size_t i = 0; i < names.size(); ++i) tensors[i].first = names[i];
  return tensors;
}

NamedTensors read_safetensors(const std::string& path) {
  const SafetensorsFile file(path);
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : file.entries()) {
    names.push_back(entry.name);
  }
  const std::vector<std::string> stripped = strip_all(names);
  NamedTensors tensors;
  for (size_t i = 0; i < names.size(); ++i) {
    tensors.emplace_back(stripped[i], to_tensor(file.read(names[i])));
  }
  return tensors;
}

enum class Format { kPth, kSafetensors };

// Told by content, for names mislead (.pth.tar, .ckpt, .bin, no ending).
Format format_of(const std::string& path) {
  const FileReader file(path);
  constexpr size_t kLength = 8;  // of the number that starts .safetensors
  std::string start(kLength + 1, '\0');
  start.resize(std::min<uint64_t>(start.size(), file.size()));
  file.read_at(0, start.data(), start.size());
  // First, for the number may begin as the other formats do.
  if (start.size() > kLength && start[kLength] == '{') {
    return Format::kSafetensors;
  }
  if (start.starts_with("PK") || start.starts_with('\x80')) {
    return Format::kPth;
  }
  throw DataError(path +
                  ": neither a .safetensors file nor one of torch.save (one "
                  "from before 2017: load it in Python and save it again)");
}

// "3: a, b, c" or "12: a, b, c, ..."
std::string first_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text = std::to_string(names.size());
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    text += (i == 0 ? ": " : ", ") + names[i];
  }
  return text + (names.size() > kShown ? ", ..." : "");
}

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

NamedTensors state_of(const Backbone& backbone) {
  NamedTensors state;
  for (const auto& item : backbone.named_parameters()) {
    state.emplace_back(item.key(), item.value());
  }
  for (const auto& item : backbone.named_buffers()) {
    state.emplace_back(item.key(), item.value());
  }
  return state;
}

// Counts batches for a way of averaging that kith does not use, and is not in
// files of before 2018. Adapters are no part of pretrained weights.
bool may_be_missing(const std::string& name) {
  return name.ends_with("num_batches_tracked") || is_of_lora(name);
}

[[noreturn]] void fail_unmatched(const std::string& path,
                                 const NamedTensors& found,
                                 const NamedTensors& wanted,
                                 const std::string& network) {
  const auto names = [](const NamedTensors& tensors) {
    std::vector<std::string> all;
    for (const auto& [name, tensor] : tensors) all.push_back(name);
    return all;
  };
  throw DataError(path + ": no tensor fits the model; the file has " +
                  first_names(names(found)) + "; the model has " +
                  first_names(names(wanted)) +
                  (network.empty() ? ". Is it the file of another model?"
                                   : ". The file is nearest to " + network));
}

}  // namespace

std::string WeightReport::summary() const {
  const size_t wanted = matched.size() + missing.size() + mismatched.size();
  std::string text = std::to_string(matched.size()) + " of " +
                     std::to_string(wanted) + " tensors loaded";
  if (!missing.empty()) text += "; missing " + first_names(missing);
  if (!mismatched.empty()) text += "; other shape " + first_names(mismatched);
  if (!unexpected.empty()) text += "; not used " + first_names(unexpected);
  const bool fits = missing.empty() && mismatched.empty();
  if (!fits && !network.empty()) text += "; the file is nearest to " + network;
  return text;
}

NamedTensors read_weights(const std::string& path) {
  NamedTensors tensors;
  std::map<std::string, std::string> file_of;  // of a tensor
  for (const std::string& file : find_weight_files(path).weights) {
    for (auto& [name, tensor] : format_of(file) == Format::kPth
                                    ? read_pth(file)
                                    : read_safetensors(file)) {
      const auto [seen, is_new] = file_of.emplace(name, file);
      if (!is_new && seen->second != file) {
        throw DataError(file + ": tensor '" + name + "' is in " + seen->second +
                        " too, another part of the weights");
      }
      tensors.emplace_back(name, std::move(tensor));
    }
  }
  if (tensors.empty()) throw DataError(path + ": holds no tensors");
  return tensors;
}

WeightReport copy_weights(const std::string& path, const NamedTensors& weights,
                          const NamedTensors& targets,
                          const std::string& network) {
  const torch::NoGradGuard no_grad;
  const std::map<std::string, Tensor> by_name(targets.begin(), targets.end());
  std::set<std::string> seen;
  WeightReport report;
  report.network = network;
  for (const auto& [name, tensor] : weights) {
    const auto target = by_name.find(name);
    if (target == by_name.end() || !seen.insert(name).second) {
      report.unexpected.push_back(name);
    } else if (target->second.sizes() != tensor.sizes()) {
      report.mismatched.push_back(
          name + ": " + shape_text(tensor.sizes()) + " in the file, " +
          shape_text(target->second.sizes()) + " in the model");
    } else if (!all_finite(tensor)) {
      throw DataError(path + ": tensor '" + name +
                      "' has a NaN or infinite value: the weights are broken; "
                      "take another file");
    } else {
      Tensor(target->second).copy_(tensor);
      report.matched.push_back(name);
    }
  }
  for (const auto& [name, tensor] : targets) {
    if (!seen.contains(name) && !may_be_missing(name)) {
      report.missing.push_back(name);
    }
  }
  // Counters fit any network that has the name.
  if (std::all_of(report.matched.begin(), report.matched.end(),
                  may_be_missing)) {
    fail_unmatched(path, weights, targets, network);
  }
  return report;
}

WeightReport load_weights(const std::string& path, Backbone& backbone) {
  NamedTensors weights = read_weights(path);
  backbone.adapt_weights(weights);
  return copy_weights(path, weights, state_of(backbone),
                      backbone.network_of(weights));
}

}  // namespace kith
