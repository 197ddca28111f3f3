#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kith {

/// A node of a configuration: what YAML says plus where it says it, so that
/// every error can name file and line. Text stays text until an option with a
/// type reads it (kith/core/options.h).
struct ConfigNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string scalar;
  bool quoted = false;  ///< "1" in quotes is text, never a number.
  std::vector<ConfigNode> items;
  std::vector<std::pair<std::string, ConfigNode>> entries;  ///< In file order.
  std::string where;  ///< "recipe.yaml:12", "override loss.k=3", or empty.

  // Out of line: the type holds vectors of itself, which is complete only
  // below.
  ConfigNode();
  ~ConfigNode();
  ConfigNode(const ConfigNode& other);
  ConfigNode(ConfigNode&& other) noexcept;
  ConfigNode& operator=(const ConfigNode& other);
  ConfigNode& operator=(ConfigNode&& other) noexcept;

  static ConfigNode text(std::string value);
  static ConfigNode map();

  bool is_map() const { return kind == Kind::kMap; }

  /// The entry of a map, or nullptr.
  const ConfigNode* find(std::string_view key) const;
  ConfigNode* find(std::string_view key);

  /// Adds or replaces an entry; a null node becomes a map first.
  ConfigNode& set(const std::string& key, ConfigNode value);
};

/// The map in a file, laid over that of the file its key `base` names (a path
/// relative to the file that says it), if any, and so on; the result has no
/// `base`. Throws DataError if a file cannot be read and ConfigError, with file
/// and line, if one is not YAML, has a key twice, or is larger than kith
/// accepts (4 MiB, 100 000 nodes after aliases are expanded), or if files build
/// on each other in a circle or more than 16 deep.
ConfigNode load_config(const std::string& path);

/// The same of a text, in which `base` means nothing.
ConfigNode parse_config(const std::string& yaml, const std::string& name);

/// Applies "a.b=c" to a configuration. The value is YAML: `k=[1,2,4]` is a
/// list. A number in the path is a position in a list: `augment.0.degrees=5`.
/// `from` is what errors call it, before the assignment.
void apply_override(ConfigNode& root, const std::string& assignment,
                    const std::string& from = "override");

/// Lays `over` on `base`: maps are merged key by key, anything else replaced.
/// Maps with different `name`s are different parts: replaced as a whole, so
/// that no option of the one is left for the other.
void merge_config(ConfigNode& base, const ConfigNode& over);

/// YAML text of a node, as `--print-config` shows it and runs store it.
std::string to_yaml(const ConfigNode& node);

}  // namespace kith
