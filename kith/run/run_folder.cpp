#include "kith/run/run_folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "kith/core/file.h"
#include "kith/core/path.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpoints = "checkpoints";
constexpr std::string_view kEpochName = "epoch-";
constexpr std::string_view kWeights = ".safetensors";
constexpr uint64_t kMaxConfigBytes = uint64_t{4} << 20;

/// The epoch of "epoch-12.safetensors".
std::optional<int64_t> epoch_of_name(std::string_view name) {
  if (!name.starts_with(kEpochName) || !name.ends_with(kWeights)) return {};
  name.remove_prefix(kEpochName.size());
  name.remove_suffix(kWeights.size());
  int64_t epoch = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, epoch);
  if (error != std::errc() || stop != end || epoch < 0) return {};
  return epoch;
}

}  // namespace

RunFolder RunFolder::of(const std::string& place) {
  fs::path path(place);
  if (!is_folder(path)) path = full_path(path).parent_path();
  if (path.filename().empty()) path = path.parent_path();  // "run/"
  if (path.filename() == kCheckpoints) path = path.parent_path();
  return RunFolder(path.string());
}

std::optional<RunFolder> RunFolder::of_checkpoint(const std::string& file) {
  const fs::path folder = full_path(file).parent_path();
  if (folder.filename() != kCheckpoints) return std::nullopt;
  return RunFolder(folder.parent_path().string());
}

std::string RunFolder::checkpoints() const {
  return path_ + "/" + kCheckpoints;
}

std::string RunFolder::checkpoint(const std::string& which) const {
  const bool is_epoch =
      !which.empty() &&
      which.find_first_not_of("0123456789") == std::string::npos;
  return checkpoints() + "/" + (is_epoch ? std::string(kEpochName) : "") +
         which + std::string(kWeights);
}

std::string RunFolder::checkpoint(int64_t epoch) const {
  return checkpoint(std::to_string(epoch));
}

std::vector<int64_t> RunFolder::kept_epochs() const {
  std::vector<int64_t> epochs;
  if (!is_folder(checkpoints())) return epochs;
  for (const std::string& name : names_in(checkpoints())) {
    if (const auto epoch = epoch_of_name(name)) epochs.push_back(*epoch);
  }
  std::sort(epochs.begin(), epochs.end());
  return epochs;
}

std::vector<std::string> RunFolder::eval_files(const std::string& name) const {
  std::vector<std::string> files;
  if (!is_folder(eval())) return files;
  if (is_file(eval() + "/" + name)) files.push_back(eval() + "/" + name);
  for (const std::string& one : names_in(eval())) {
    const std::string folder = eval() + "/" + one;
    if (is_folder(folder) && is_file(folder + "/" + name)) {
      files.push_back(folder + "/" + name);
    }
  }
  return files;
}

RunFolder RunFolder::fold(int64_t number) const {
  return RunFolder(path_ + "/fold-" + std::to_string(number));
}

bool RunFolder::holds_run() const {
  return path_exists(config()) || path_exists(selection().config());
}

bool RunFolder::is_finished() const { return path_exists(metrics()); }

bool RunFolder::has_diverged() const {
  return path_exists(bad_batch()) || path_exists(diverged());
}

ConfigNode RunFolder::read_config() const {
  return parse_config(read_file(config(), kMaxConfigBytes), config());
}

void RunFolder::write_config(const ConfigNode& tree) const {
  write_file_atomically(config(), to_yaml(tree));
}

}  // namespace kith
