// Configurations from files, which may build on other files.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "kith/core/config.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/options.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = size_t{4} << 20;
constexpr size_t kMaxFiles = 16;  ///< That build on each other.

ConfigNode load_one(const std::string& path) {
  ConfigNode root = parse_config(read_file(path, kMaxConfigBytes), path);
  if (root.kind != ConfigNode::Kind::kMap) {
    throw ConfigError(path +
                      ": a configuration is a map of sections, such as "
                      "'data:' and 'loss:'");
  }
  return root;
}

/// Takes the key `base` out of a configuration.
ConfigNode take_base(ConfigNode& root) {
  const auto entry =
      std::find_if(root.entries.begin(), root.entries.end(),
                   [](const auto& e) { return e.first == "base"; });
  if (entry == root.entries.end()) return {};
  ConfigNode base = std::move(entry->second);
  root.entries.erase(entry);
  if (base.kind != ConfigNode::Kind::kScalar || base.scalar.empty()) {
    throw ConfigError(base.where +
                      ": 'base' must be the path of another configuration, "
                      "such as common/base.yaml");
  }
  return base;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code failed;  // a missing file is reported when it is read
  return a == b || fs::equivalent(a, b, failed);
}

/// The file that a file builds on. `chain` is how it was reached.
std::string base_path(const ConfigNode& base,
                      const std::vector<std::string>& chain) {
  std::string path = (fs::path(chain.back()).parent_path() / base.scalar)
                         .lexically_normal()
                         .string();
  const bool circle = std::any_of(
      chain.begin(), chain.end(),
      [&](const std::string& file) { return same_file(file, path); });
  if (circle || chain.size() == kMaxFiles) {
    throw ConfigError(base.where + ": " +
                      (circle ? "files build on each other in a circle"
                              : "more than " + std::to_string(kMaxFiles) +
                                    " files build on each other") +
                      ": " + join(chain, " -> ") + " -> " + path);
  }
  return path;
}

ConfigNode load_chain(std::vector<std::string>& chain) {
  ConfigNode root = load_one(chain.back());
  const ConfigNode base = take_base(root);
  if (base.kind == ConfigNode::Kind::kNull) return root;
  const std::string path = base_path(base, chain);
  try {
    FileReader readable(path);
  } catch (const DataError& error) {
    throw DataError(base.where + ": cannot read 'base': " + error.what());
  }
  chain.push_back(path);
  ConfigNode whole = load_chain(chain);
  merge_config(whole, root);
  return whole;
}

}  // namespace

ConfigNode load_config(const std::string& path) {
  std::vector<std::string> chain = {path};
  return load_chain(chain);
}

}  // namespace kith
