#include "kith/run/run_place.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/run/run_folder.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSection = "started";

/// Section and key of each option that is a path from where kith was started.
constexpr std::pair<const char*, const char*> kPaths[] = {
    {"data", "path"}, {"model", "weights"}, {"train", "init_from"}};

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

/// Absolute, without dots and links as far as it is there.
fs::path real_path(const fs::path& path) {
  std::error_code failed;
  fs::path real = fs::weakly_canonical(full_path(path), failed);
  if (failed) real = full_path(path).lexically_normal();
  return real.has_filename() ? real : real.parent_path();  // "run/"
}

RunStart start_of(const ConfigNode& config) {
  const ConfigNode* section = config.find(kSection);
  return section == nullptr ? RunStart()
                            : read_options<RunStart>(*section, kSection);
}

/// Relative paths of a configuration.
std::vector<fs::path> relative_paths(const ConfigNode& config) {
  std::vector<fs::path> paths;
  for (const auto& [section, key] : kPaths) {
    const ConfigNode* map = config.find(section);
    const ConfigNode* node = map == nullptr ? nullptr : map->find(key);
    if (node == nullptr || node->scalar.empty()) continue;
    if (fs::path(node->scalar).is_relative()) paths.emplace_back(node->scalar);
  }
  return paths;
}

}  // namespace

void RunStart::describe(OptionSet& set) {
  set.add("folder", folder,
          "Written by kith train: the folder that relative paths begin at.");
  set.add("out", out, "Written by kith train: the run's own folder.");
}

void record_start(ConfigNode& config, const std::string& out) {
  RunStart start = start_of(config);
  if (start.folder.empty()) start.folder = present_folder().string();
  // From there, so that both may move together.
  start.out =
      real_path(out).lexically_relative(real_path(start.folder)).string();
  config.set(kSection, write_options(start));
}

void forget_start(ConfigNode& config) {
  std::erase_if(config.entries,
                [](const auto& entry) { return entry.first == kSection; });
}

void follow_run(ConfigNode& config, const std::string& place) {
  RunStart start = start_of(config);
  if (start.folder.empty() || start.out.empty()) return;
  const fs::path then = fs::path(start.folder) / start.out;
  const fs::path now =
      fs::path(RunFolder::of(real_path(place).string()).path());
  if (real_path(then) == now) return;
  // From the run to where it was started, as it was then.
  const fs::path folder = real_path(
      now / fs::path(start.folder).lexically_relative(then.lexically_normal()));
  bool has_moved = false;
  for (const fs::path& path : relative_paths(config)) {
    has_moved |= !is_there(start.folder / path) && is_there(folder / path);
  }
  if (!has_moved) return;
  log_info("the run was moved from " + then.string() + " to " + now.string() +
           ": its paths now begin at " + folder.string());
  start.folder = folder.string();
  start.out = now.lexically_relative(folder).string();
  config.set(kSection, write_options(start));
}

std::string run_path(const ConfigNode& config, const std::string& key,
                     const std::string& path) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  const fs::path here = present_folder();
  const RunStart start = start_of(config);
  const bool is_elsewhere =
      !start.folder.empty() && real_path(start.folder) != real_path(here);
  if (is_elsewhere) {
    const fs::path there = fs::path(start.folder) / path;
    if (is_there(there)) return there.string();
  }
  if (is_there(path)) {
    if (is_elsewhere) {
      log_info("'" + key + "' (" + path + ") is not in " + start.folder +
               ", where the run was started: the one in " + here.string() +
               " is taken");
    }
    return path;
  }
  const std::string elsewhere =
      is_elsewhere ? ", nor in " + start.folder + ", where the run was started"
                   : "";
  throw MissingPath(key, "'" + key + "' is " + path +
                             ", and there is no such file in " + here.string() +
                             elsewhere + "; set '" + key + "' to where it is");
}

void refuse_own_data(const ConfigNode& config) {
  const ConfigNode* data = config.find("data");
  if (data == nullptr || data->find("made") == nullptr) return;
  throw ConfigError(
      (data->where.empty() ? "" : data->where + ": ") +
      "the data set of this run was made in C++, and its configuration does "
      "not say of what: name other data, or, in the program that makes this "
      "one, read the network with load_model() and score it with Evaluator");
}

ConfigNode run_data(const ConfigNode& config) {
  const ConfigNode* section = config.find("data");
  if (section == nullptr) throw ConfigError("no 'data' section");
  refuse_own_data(config);
  ConfigNode data = *section;
  if (ConfigNode* path = data.find("path")) {
    path->scalar = run_path(config, "data.path", path->scalar);
  }
  return data;
}

}  // namespace kith
