#include "kith/run/run_folder.h"

#include <filesystem>

#include "kith/core/file.h"
#include "kith/core/path.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpoints = "checkpoints";
constexpr uint64_t kMaxConfigBytes = uint64_t{4} << 20;

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
  return checkpoints() + "/" + which + ".safetensors";
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
