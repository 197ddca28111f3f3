#include "kith/study/axes.h"

#include <algorithm>
#include <string_view>

#include "kith/core/error.h"
#include "kith/core/option_info.h"
#include "kith/core/quote.h"
#include "kith/study/study_keys.h"

namespace kith {
namespace {

constexpr size_t kMaxLabel = 100;  ///< Bytes; a folder's name holds 255.

struct AxisOptions {
  std::string name;
  std::string key;

  void describe(OptionSet& set) {
    set.add("name", name, "Of the axis.");
    set.add("key", key, "The key that is set to each value.");
  }
};

/// What a value changes. With a key any value will do; without, it is a part
/// of a configuration.
ConfigNode over_of(const ConfigNode& value, const AxisOptions& axis) {
  if (!axis.key.empty()) return config_of_key(axis.key, value);
  if (value.is_map()) return value;
  if (value.kind == ConfigNode::Kind::kNull) return ConfigNode::map();
  fail_at(value, "without a 'key', values of the axis '" + axis.name +
                     "' must map labels to parts of a configuration, such as "
                     "{with: {loss: {simix: true}}}");
}

void add_value(const ConfigNode& node, AxisValue value, StudyAxis& axis) {
  if (value.label.empty() || value.label.size() > kMaxLabel) {
    fail_at(node, "a label of the axis '" + axis.name + "' must have 1 to " +
                      std::to_string(kMaxLabel) + " bytes, got " +
                      quote(value.label));
  }
  for (const AxisValue& other : axis.values) {
    if (other.label == value.label) {
      fail_at(node, "the axis '" + axis.name + "' has the label '" +
                        value.label + "' twice");
    }
    if (folder_name(other.label) == folder_name(value.label)) {
      fail_at(node, "the labels " + quote(other.label) + " and " +
                        quote(value.label) + " of the axis '" + axis.name +
                        "' would share the folder '" +
                        folder_name(value.label) + "'; rename one");
    }
  }
  axis.values.push_back(std::move(value));
}

StudyAxis read_axis(const ConfigNode& node, const std::string& path) {
  const auto options = read_options<AxisOptions>(node, path, {"values"});
  StudyAxis axis;
  axis.name = options.name.empty() ? options.key : options.name;
  if (axis.name.empty()) fail_at(node, "'" + path + "' needs a 'name'");
  const ConfigNode* values = node.find("values");
  if (values != nullptr && values->is_map()) {
    for (const auto& [label, value] : values->entries) {
      add_value(value, {label, over_of(value, options)}, axis);
    }
  } else if (values != nullptr) {
    for (const ConfigNode& value : values->items) {
      ConfigNode over = over_of(value, options);
      add_value(value, {label_of(value, axis.name), std::move(over)}, axis);
    }
  }
  if (axis.values.empty()) {
    fail_at(
        values == nullptr ? node : *values,
        "the axis '" + axis.name +
            "' has no values; give a list, or a map from labels to what they "
            "change");
  }
  return axis;
}

}  // namespace

std::vector<OptionInfo> axis_options() { return option_infos<AxisOptions>(); }

std::vector<StudyAxis> read_axes(const std::vector<ConfigNode>& nodes) {
  std::vector<StudyAxis> axes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    StudyAxis axis = read_axis(nodes[i], "study.axes." + std::to_string(i));
    const bool twice =
        std::any_of(axes.begin(), axes.end(),
                    [&](const StudyAxis& a) { return a.name == axis.name; });
    if (twice) fail_at(nodes[i], "two axes have the name '" + axis.name + "'");
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::string label_of(const ConfigNode& value, const std::string& axis) {
  if (value.kind == ConfigNode::Kind::kScalar) return value.scalar;
  if (value.kind == ConfigNode::Kind::kNull) return "null";
  if (value.kind == ConfigNode::Kind::kList) {
    std::vector<std::string> words;
    for (const ConfigNode& item : value.items) {
      words.push_back(label_of(item, axis));
    }
    return join(words, ",");
  }
  fail_at(value, "a map among the values of the axis '" + axis +
                     "' has no label; write values: {label: {...}}");
}

std::string known_label(const StudyAxis& axis, const ConfigNode& node) {
  const std::string label = label_of(node, axis.name);
  std::vector<std::string> known;
  for (const AxisValue& value : axis.values) known.push_back(value.label);
  if (!std::count(known.begin(), known.end(), label)) {
    throw_unknown(node.where, "value of the axis '" + axis.name + "'", label,
                  known);
  }
  return label;
}

Labels read_labels(const ConfigNode& map, const std::string& what,
                   const std::vector<StudyAxis>& axes) {
  if (!map.is_map() || map.entries.empty()) {
    fail_at(map, what + " must name labels by axis, such as {" +
                     (axes.empty() ? "axis" : axes[0].name) + ": label}");
  }
  std::vector<std::string> names;
  for (const StudyAxis& axis : axes) names.push_back(axis.name);
  Labels labels(axes.size());
  for (const auto& [key, node] : map.entries) {
    const auto found = std::find(names.begin(), names.end(), key);
    if (found == names.end()) throw_unknown(node.where, "axis", key, names);
    const auto a = static_cast<size_t>(found - names.begin());
    labels[a] = known_label(axes[a], node);
  }
  return labels;
}

std::string folder_name(const std::string& label) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-=,@";
  std::string name = label;
  for (char& c : name) {
    if (kSafe.find(c) == std::string_view::npos) c = '_';
  }
  if (name[0] == '.') name[0] = '_';
  return name;
}

ConfigNode config_of_key(const std::string& key, ConfigNode value) {
  for (size_t end = key.size();;) {
    const size_t dot = end == 0 ? std::string::npos : key.rfind('.', end - 1);
    const size_t begin = dot == std::string::npos ? 0 : dot + 1;
    ConfigNode map = ConfigNode::map();
    map.where = value.where;
    map.set(key.substr(begin, end - begin), std::move(value));
    value = std::move(map);
    if (dot == std::string::npos) return value;
    end = dot;
  }
}

}  // namespace kith
