#include <list>
#include <map>

#include "kith/core/options.h"
#include "kith/report/run_record.h"

namespace kith {
namespace {

/// A node as YAML in one line.
std::string flow_text(const ConfigNode& node) {
  std::vector<std::string> parts;
  if (node.kind == ConfigNode::Kind::kList) {
    for (const ConfigNode& item : node.items) parts.push_back(flow_text(item));
    return "[" + join(parts) + "]";
  }
  if (node.is_map()) {
    for (const auto& [key, value] : node.entries) {
      parts.push_back(key + ": " + flow_text(value));
    }
    return "{" + join(parts) + "}";
  }
  std::string text = to_yaml(node);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void add_leaves(const ConfigNode& node, const std::string& key,
                std::vector<std::pair<std::string, std::string>>& leaves) {
  if (!node.is_map() || node.entries.empty()) {
    leaves.emplace_back(key, flow_text(node));
    return;
  }
  for (const auto& [name, value] : node.entries) {
    add_leaves(value, key.empty() ? name : key + "." + name, leaves);
  }
}

/// Which parts the value at a key belongs to: the names on the way to it, as
/// "triplet" of loss.margin. Empty if none has one.
std::string parts_of_key(const ConfigNode& config, const std::string& key) {
  std::string parts;
  const ConfigNode* node = &config;
  for (size_t begin = 0; node != nullptr && node->is_map();) {
    const ConfigNode* name = node->find("name");
    if (name != nullptr) parts += name->scalar + "\n";
    const size_t end = key.find('.', begin);
    if (end == std::string::npos) break;
    node = node->find(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The values of all runs by key, the keys in the order of the first run;
/// those of other runs stand where they do there.
class KeyTable {
 public:
  explicit KeyTable(size_t runs) : configs_(runs) {}

  void add_run(size_t run, const ConfigNode& config) {
    configs_[run] = &config;
    auto place = rows_.begin();  // behind the key that was last
    for (auto& [key, value] : config_leaves(config)) {
      if (key.starts_with("started.")) continue;  // from where, not what
      auto found = row_of_.find(key);
      if (found == row_of_.end()) {
        const auto row = rows_.insert(
            place, {key, std::vector<std::string>(configs_.size())});
        found = row_of_.emplace(key, row).first;
      }
      found->second->values[run] = std::move(value);
      place = std::next(found->second);
    }
  }

  std::vector<ConfigDifference> differences() const {
    std::vector<ConfigDifference> result;
    for (const ConfigDifference& row : rows_) {
      // "miner: ~" beside "miner: {name: ...}": the name says all.
      if (row_of_.contains(row.key + ".name")) continue;
      if (differs(row)) result.push_back(row);
    }
    return result;
  }

 private:
  /// Whether two runs that use the same part have different values.
  bool differs(const ConfigDifference& row) const {
    const bool is_name = row.key.ends_with(".name");
    std::map<std::string, std::string> value_of;  // by part
    for (size_t run = 0; run < row.values.size(); ++run) {
      const std::string parts =
          is_name ? "" : parts_of_key(*configs_[run], row.key);
      const auto found = value_of.emplace(parts, row.values[run]).first;
      if (found->second != row.values[run]) return true;
    }
    return false;
  }

  std::vector<const ConfigNode*> configs_;
  std::list<ConfigDifference> rows_;
  std::map<std::string, std::list<ConfigDifference>::iterator> row_of_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> config_leaves(
    const ConfigNode& config) {
  std::vector<std::pair<std::string, std::string>> leaves;
  if (config.is_map() && !config.entries.empty()) {
    add_leaves(config, "", leaves);
  }
  return leaves;
}

std::vector<ConfigDifference> config_differences(
    const std::vector<RunRecord>& runs) {
  KeyTable table(runs.size());
  for (size_t run = 0; run < runs.size(); ++run) {
    table.add_run(run, runs[run].config);
  }
  return table.differences();
}

}  // namespace kith
