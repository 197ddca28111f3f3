#include "kith/models/weight_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/number_text.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/models/published_config.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kPreprocessing = "preprocessor_config.json";
constexpr std::string_view kIndexEnding = ".index.json";
/// By preference: what holds data alone comes first.
constexpr const char* kWholeOrParts[] = {
    "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
    "pytorch_model.bin.index.json"};

/// A file of the folder itself, and no way out of it.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

/// The files that an index names, in the order of their names.
std::vector<std::string> parts_of(const std::string& index) {
  const auto refuse = [&](const std::string& why) -> void {
    throw DataError(index + ": " + why);
  };
  const nlohmann::ordered_json json = read_published_json(index);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object() || map->empty()) {
    refuse("not an index of weights: it has no 'weight_map' of tensors");
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>())) {
      refuse("tensor " + quote(tensor) +
             " is not in a file of the same folder; it must be a file's name");
    }
    names.insert(file.get<std::string>());
  }
  std::vector<std::string> files;
  for (const std::string& name : names) {
    files.push_back((fs::path(index).parent_path() / name).string());
    if (!is_file(files.back())) {
      refuse("names the part " + quote(name) +
             ", which is not beside it: is the download complete?");
    }
  }
  return files;
}

std::string file_in(const fs::path& folder, const char* name) {
  const fs::path file = folder / name;
  return is_file(file) ? file.string() : "";
}

std::string weights_in(const std::string& folder) {
  for (const char* name : kWholeOrParts) {
    const std::string file = file_in(folder, name);
    if (!file.empty()) return file;
  }
  throw DataError(folder +
                  ": a folder without weights: there is no model.safetensors, "
                  "pytorch_model.bin or index of parts of one; of a run of "
                  "kith say train.init_from, else name a file");
}

}  // namespace

WeightFiles find_weight_files(const std::string& path) {
  const auto is_one = [](const fs::path& file) {
    return std::find(std::begin(kWholeOrParts), std::end(kWholeOrParts),
                     file.filename()) != std::end(kWholeOrParts);
  };
  const std::string weights = is_folder(path) ? weights_in(path) : path;
  WeightFiles files;
  files.weights = weights.ends_with(kIndexEnding)
                      ? parts_of(weights)
                      : std::vector<std::string>{weights};
  if (is_one(weights)) {
    const fs::path folder = fs::path(weights).parent_path();
    files.config = file_in(folder, kConfig);
    files.preprocessing = file_in(folder, kPreprocessing);
  }
  return files;
}

TensorLimit limit_network(const std::string& description,
                          const std::vector<std::string>& weights) {
  constexpr uint64_t kRoom = uint64_t{256} << 20;
  uint64_t bytes = 0;
  for (const std::string& file : weights) {
    bytes += static_cast<uint64_t>(bytes_of(file));
  }
  const uint64_t most = 4 * bytes + kRoom;
  const auto megabytes = [](uint64_t count) {
    return memory_text(static_cast<int64_t>(count >> 20) + 1);
  };
  return {most, description + ": describes a network of more than " +
                    megabytes(most) + ", for which its weights of " +
                    megabytes(bytes) + " are too small"};
}

}  // namespace kith
