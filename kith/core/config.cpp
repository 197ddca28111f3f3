#include "kith/core/config.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <map>
#include <sstream>
#include <unordered_map>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "kith/core/error.h"
#include "kith/core/quote.h"

namespace kith {
namespace {

constexpr size_t kMaxBytes = size_t{4} << 20;
constexpr int kMaxNodes = 100'000;
constexpr int kMaxDepth = 64;
/// After aliases are expanded: one can repeat a long text with few bytes.
constexpr size_t kMaxExpanded = size_t{16} << 20;

/// What `where` says of a node: file and line, or the flag as a whole.
struct Place {
  std::string name;
  bool has_lines = true;

  std::string of(const YAML::Mark& mark) const {
    if (!has_lines || mark.line < 0) return name;
    return name + ":" + std::to_string(mark.line + 1);
  }
};

[[noreturn]] void refuse_size(const std::string& where) {
  throw ConfigError(where +
                    ": the configuration is too large or too deeply nested");
}

/// yaml-cpp reads any bytes, but writes other characters for those that are not
/// UTF-8: what a run keeps would not be what it was made with.
void check_utf8(const std::string& text, const std::string& where) {
  if (is_utf8(text)) return;
  throw ConfigError(
      where + ": " + quote(text) +
      " is not UTF-8, the one encoding that a configuration may have: save it "
      "as UTF-8, and give files and folders names that are");
}

/// Converts yaml-cpp's tree. Aliases are expanded here, so what is counted is
/// what keeps a hostile file ("billion laughs") from exhausting memory.
class Converter {
 public:
  explicit Converter(const Place& place) : place_(place) {}

  ConfigNode convert(const YAML::Node& yaml, int depth = 0) {
    ConfigNode node;
    node.where = place_.of(yaml.Mark());
    if (++count_ > kMaxNodes || depth > kMaxDepth) refuse_size(node.where);
    if (yaml.IsScalar()) {
      node.kind = ConfigNode::Kind::kScalar;
      bytes_ += yaml.Scalar().size();
      if (bytes_ > kMaxExpanded) refuse_size(node.where);
      node.scalar = yaml.Scalar();
      check_utf8(node.scalar, node.where);
      node.quoted = yaml.Tag() == "!";
    } else if (yaml.IsSequence()) {
      node.kind = ConfigNode::Kind::kList;
      for (const auto& item : yaml) {
        node.items.push_back(convert(item, depth + 1));
      }
    } else if (yaml.IsMap()) {
      node.kind = ConfigNode::Kind::kMap;
      std::map<std::string, std::string> seen;  // key, where
      for (const auto& entry : yaml) add_entry(node, entry, depth, seen);
    }
    return node;
  }

 private:
  template <class Entry>
  void add_entry(ConfigNode& map, const Entry& entry, int depth,
                 std::map<std::string, std::string>& seen) {
    ConfigNode key = convert(entry.first, depth + 1);
    if (key.kind != ConfigNode::Kind::kScalar) {
      throw ConfigError(key.where + ": a key must be a plain word");
    }
    const auto [first, is_new] = seen.emplace(key.scalar, key.where);
    if (!is_new) {
      throw ConfigError(key.where + ": key '" + key.scalar +
                        "' is given twice (first at " + first->second + ")");
    }
    ConfigNode value = convert(entry.second, depth + 1);
    value.where = key.where;
    map.entries.emplace_back(std::move(key.scalar), std::move(value));
  }

  const Place& place_;
  int count_ = 0;
  size_t bytes_ = 0;
};

/// Counts the nodes of a text before yaml-cpp makes a tree of it, which takes
/// 250 bytes for each byte of text.
class Counter final : public YAML::EventHandler {
 public:
  using Mark = YAML::Mark;
  using Tag = std::string;
  using Anchor = YAML::anchor_t;
  using Style = YAML::EmitterStyle::value;

  explicit Counter(const Place& place) : place_(place) {}

  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark& mark, Anchor) override { add(mark); }
  void OnAlias(const Mark& mark, Anchor) override { add(mark); }
  void OnScalar(const Mark& mark, const Tag&, Anchor, const Tag&) override {
    add(mark);
  }
  void OnSequenceStart(const Mark& mark, const Tag&, Anchor, Style) override {
    open(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const Mark& mark, const Tag&, Anchor, Style) override {
    open(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void add(const Mark& mark) {
    if (++count_ > kMaxNodes) refuse_size(place_.of(mark));
  }
  void open(const Mark& mark) {
    add(mark);
    if (++depth_ > kMaxDepth) refuse_size(place_.of(mark));
  }

  const Place& place_;
  int count_ = 0;
  int depth_ = 0;
};

/// yaml-cpp stops without a word at the end of the first document, which a
/// stray ',' can be; the parser knows whether text is left.
/// (YAML::LoadAll of version 0.7 never returns from such a text.)
void check_whole(const std::string& yaml, const Place& place) {
  std::istringstream text(yaml);
  YAML::Parser parser(text);
  Counter counter(place);
  parser.HandleNextDocument(counter);
  if (parser) {
    throw ConfigError(place.name +
                      ": text after the end of the configuration, such as a "
                      "second document");
  }
}

ConfigNode parse(const std::string& yaml, const Place& place) {
  if (yaml.size() > kMaxBytes) {
    throw ConfigError(place.name + ": a configuration of " +
                      std::to_string(yaml.size()) + " bytes, at most " +
                      std::to_string(kMaxBytes) + " are accepted");
  }
  try {
    check_whole(yaml, place);
    return Converter(place).convert(YAML::Load(yaml));
  } catch (const YAML::Exception& error) {
    throw ConfigError(place.of(error.mark) + ": not valid YAML: " + error.msg);
  }
}

/// Whether two maps are parts of different names, such as two losses.
bool names_another(const ConfigNode& base, const ConfigNode& over) {
  const ConfigNode* before = base.find("name");
  const ConfigNode* after = over.find("name");
  return before != nullptr && after != nullptr &&
         before->scalar != after->scalar;
}

bool is_position(const std::string& text, size_t& position) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), position);
  return error == std::errc() && end == text.data() + text.size();
}

ConfigNode& descend(ConfigNode& node, const std::string& part,
                    const std::string& where) {
  size_t position = 0;
  if (node.kind == ConfigNode::Kind::kList) {
    if (!is_position(part, position) || position >= node.items.size()) {
      throw ConfigError(where + ": '" + part + "' is not a position in a list" +
                        " of " + std::to_string(node.items.size()));
    }
    return node.items[position];
  }
  if (ConfigNode* child = node.find(part)) return *child;
  if (node.kind == ConfigNode::Kind::kScalar) {
    throw ConfigError(where + ": '" + part + "' lies below the plain value '" +
                      node.scalar + "'");
  }
  ConfigNode child;
  child.where = where;
  return node.set(part, std::move(child));
}

/// Whether YAML reads the text back without quotes: words, numbers and paths.
bool is_plain(const std::string& text) {
  const auto safe = [](unsigned char c) {
    return c < 128 && (std::isalnum(c) || std::strchr("_-+./=() ", c));
  };
  if (text.empty() || !std::all_of(text.begin(), text.end(), safe)) {
    return false;
  }
  if (text.front() == ' ' || text.back() == ' ') return false;
  if (text.front() == '-') {  // of a number, not of a list
    return text.size() > 1 && (std::isdigit(text[1]) || text[1] == '.');
  }
  return !text.starts_with("...") && text != "null";
}

void emit_text(YAML::Emitter& out, const std::string& text, bool quoted,
               const std::string& where) {
  check_utf8(text, where.empty() ? "the configuration" : where);
  if (quoted || !is_plain(text)) out << YAML::DoubleQuoted;
  out << text;
}

void emit(YAML::Emitter& out, const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      out << YAML::Null;
      break;
    case ConfigNode::Kind::kScalar:
      emit_text(out, node.scalar, node.quoted, node.where);
      break;
    case ConfigNode::Kind::kList: {
      const bool plain = std::all_of(
          node.items.begin(), node.items.end(),
          [](const auto& i) { return i.kind == ConfigNode::Kind::kScalar; });
      if (plain) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const ConfigNode& item : node.items) emit(out, item);
      out << YAML::EndSeq;
      break;
    }
    case ConfigNode::Kind::kMap:
      if (node.entries.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& [key, value] : node.entries) {
        out << YAML::Key;
        emit_text(out, key, false, value.where);
        out << YAML::Value;
        emit(out, value);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

ConfigNode::ConfigNode() = default;
ConfigNode::~ConfigNode() = default;
ConfigNode::ConfigNode(const ConfigNode& other) = default;
ConfigNode::ConfigNode(ConfigNode&& other) noexcept = default;
ConfigNode& ConfigNode::operator=(const ConfigNode& other) = default;
ConfigNode& ConfigNode::operator=(ConfigNode&& other) noexcept = default;

ConfigNode ConfigNode::text(std::string value) {
  ConfigNode node;
  node.kind = Kind::kScalar;
  node.scalar = std::move(value);
  return node;
}

ConfigNode ConfigNode::map() {
  ConfigNode node;
  node.kind = Kind::kMap;
  return node;
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

ConfigNode* ConfigNode::find(std::string_view key) {
  return const_cast<ConfigNode*>(std::as_const(*this).find(key));
}

ConfigNode& ConfigNode::set(const std::string& key, ConfigNode value) {
  KITH_ASSERT(kind == Kind::kNull || kind == Kind::kMap);
  kind = Kind::kMap;
  if (ConfigNode* present = find(key)) return *present = std::move(value);
  return entries.emplace_back(key, std::move(value)).second;
}

ConfigNode parse_config(const std::string& yaml, const std::string& name) {
  return parse(yaml, {name});
}

void apply_override(ConfigNode& root, const std::string& assignment,
                    const std::string& from) {
  const std::string where = from + " " + assignment;
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw ConfigError(where + ": expected KEY=VALUE, such as loss.t2=0.01");
  }
  ConfigNode* node = &root;
  std::string path = assignment.substr(0, equals);
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty()) throw ConfigError(where + ": empty part in the key");
    node = &descend(*node, part, where);
    begin = end + 1;
  }
  *node = parse(assignment.substr(equals + 1), {where, false});
}

void merge_config(ConfigNode& base, const ConfigNode& over) {
  if (!base.is_map() || !over.is_map() || names_another(base, over)) {
    base = over;
    return;
  }
  std::unordered_map<std::string, size_t> positions;
  for (size_t i = 0; i < base.entries.size(); ++i) {
    positions.emplace(base.entries[i].first, i);
  }
  for (const auto& [key, value] : over.entries) {
    const auto present = positions.find(key);
    if (present == positions.end()) {
      base.entries.emplace_back(key, value);
    } else {
      merge_config(base.entries[present->second].second, value);
    }
  }
}

std::string to_yaml(const ConfigNode& node) {
  YAML::Emitter out;
  emit(out, node);
  return std::string(out.c_str()) + "\n";
}

}  // namespace kith
