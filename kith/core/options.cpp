#include "kith/core/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>
#include <set>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/name_pattern.h"
#include "kith/core/other_names.h"
#include "kith/core/unknown_name.h"

namespace kith {
namespace {

[[noreturn]] void fail(const ConfigNode& node, const std::string& path,
                       const std::string& problem) {
  throw ConfigError((node.where.empty() ? "" : node.where + ": ") + "'" + path +
                    "' " + problem);
}

std::string shown(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return "nothing";
    case ConfigNode::Kind::kScalar:
      return "'" + node.scalar + "'";
    case ConfigNode::Kind::kList:
      return "a list";
    case ConfigNode::Kind::kMap:
      return "a map";
  }
  return "";
}

template <class T>
bool parse_number(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const bool plus = text.starts_with('+') && !text.starts_with("+-");
  const char* begin = text.data() + (plus ? 1 : 0);
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end;
}

// Each type: its name, its reader and its writer.
struct Bool {
  static constexpr const char* kName = "true or false";
  static bool read(const ConfigNode& node, bool& value) {
    if (node.quoted) return false;
    value = node.scalar == "true";
    return value || node.scalar == "false";
  }
  static std::string write(bool value) { return value ? "true" : "false"; }
};

struct Int {
  static constexpr const char* kName = "int";
  static bool read(const ConfigNode& node, int64_t& value) {
    return !node.quoted && parse_number(node.scalar, value);
  }
  static std::string write(int64_t value) { return std::to_string(value); }
};

struct Float {
  static constexpr const char* kName = "float";
  static bool read(const ConfigNode& node, double& value) {
    return !node.quoted && parse_number(node.scalar, value) &&
           std::isfinite(value);
  }
  static std::string write(double value) {
    // The shortest text that reads back to the same number.
    char buffer[32];
    const auto [end, error] =
        std::to_chars(buffer, buffer + sizeof(buffer), value);
    return std::string(buffer, end);
  }
};

struct Text {
  static constexpr const char* kName = "text";
  static bool read(const ConfigNode& node, std::string& value) {
    value = node.scalar;
    return true;
  }
  static std::string write(const std::string& value) { return value; }
};

template <class T>
struct Reader;
template <>
struct Reader<bool> : Bool {};
template <>
struct Reader<int64_t> : Int {};
template <>
struct Reader<double> : Float {};
template <>
struct Reader<std::string> : Text {};

template <class T>
void read_field(T* field, const ConfigNode& node, const std::string& path) {
  if (node.kind != ConfigNode::Kind::kScalar ||
      !Reader<T>::read(node, *field)) {
    fail(node, path,
         std::string("must be ") + Reader<T>::kName + ", got " + shown(node));
  }
}

template <class T>
void read_field(std::vector<T>* field, const ConfigNode& node,
                const std::string& path) {
  if (node.kind != ConfigNode::Kind::kList) {
    fail(node, path,
         std::string("must be a list of ") + Reader<T>::kName +
             ", such as [1, 2], got " + shown(node));
  }
  field->clear();
  for (const ConfigNode& item : node.items) {
    T value{};
    read_field(&value, item, path);
    field->push_back(value);
  }
}

template <class T>
ConfigNode write_field(const T* field) {
  ConfigNode node = ConfigNode::text(Reader<T>::write(*field));
  if constexpr (std::is_same_v<T, std::string>) {
    // Text that looks like another type keeps its quotes.
    double number = 0;
    bool flag = false;
    node.quoted = Float::read(node, number) || Bool::read(node, flag);
  }
  return node;
}

template <class T>
ConfigNode write_field(const std::vector<T>* field) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kList;
  for (const T& value : *field) node.items.push_back(write_field(&value));
  return node;
}

template <class T>
std::string field_type(const T*) {
  return Reader<T>::kName;
}

template <class T>
std::string field_type(const std::vector<T>*) {
  return std::string("list of ") + Reader<T>::kName;
}

/// A configuration is read more than once in a run.
void log_once(const std::string& where, const std::string& message) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(message).second) {
    log_warning((where.empty() ? "" : where + ": ") + message);
  }
}

/// For people: 1000000, where Float would write 1e+06.
std::string number_text(double value) {
  const bool whole = std::abs(value) < 1e15 && value == std::trunc(value);
  return whole ? Int::write(static_cast<int64_t>(value)) : Float::write(value);
}

}  // namespace

Option::Option(std::string name, Field field, std::string help)
    : name_(std::move(name)), field_(field), help_(std::move(help)) {}

Option& Option::range(double lo, double hi) {
  lo_ = lo;
  hi_ = hi;
  return *this;
}

Option& Option::positive() {
  above_zero_ = true;
  return *this;
}

Option& Option::choices(std::vector<std::string> allowed) {
  choices_ = std::move(allowed);
  return *this;
}

Option& Option::not_empty() {
  not_empty_ = true;
  return *this;
}

Option& Option::was(std::string old_name) {
  old_name_ = std::move(old_name);
  return *this;
}

std::string Option::type_name() const {
  return std::visit([](auto* field) { return field_type(field); }, field_);
}

std::string Option::constraint() const {
  if (!choices_.empty()) return "one of " + join(choices_);
  if (above_zero_) {
    return "greater than 0" +
           (std::isinf(hi_) ? "" : " and at most " + number_text(hi_));
  }
  if (std::isinf(lo_) && std::isinf(hi_)) return not_empty_ ? "not empty" : "";
  if (std::isinf(hi_)) return "at least " + number_text(lo_);
  return "in [" + number_text(lo_) + ", " + number_text(hi_) + "]";
}

void Option::read(const ConfigNode& node, const std::string& path) const {
  std::visit([&](auto* field) { read_field(field, node, path); }, field_);
  check(node, path);
}

void Option::check(const ConfigNode& node, const std::string& path) const {
  const auto number = [&](double value) {
    const bool within = value >= lo_ && value <= hi_ &&  // false for NaN
                        !(above_zero_ && value <= 0);
    if (within && std::isfinite(value)) return;
    // A configuration cannot say infinity, so a program may not either.
    const std::string limits = constraint();
    fail(node, path,
         "must be " + (within || limits.empty() ? "finite" : limits) +
             ", got " + number_text(value));
  };
  const auto text = [&](const std::string& value) {
    if (choices_.empty() || std::count(choices_.begin(), choices_.end(), value))
      return;
    const std::string near = nearest_name(value, choices_);
    fail(node, path,
         "must be " + constraint() + ", got '" + value + "'" +
             (near.empty() ? "" : "; did you mean '" + near + "'?"));
  };
  const auto size = [&](size_t count) {
    if (not_empty_ && count == 0) fail(node, path, "must not be empty");
  };
  std::visit(
      [&](auto* field) {
        using T = std::remove_pointer_t<decltype(field)>;
        if constexpr (std::is_same_v<T, std::string>) {
          text(*field);
          size(field->size());
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          for (const auto& value : *field) text(value);
          size(field->size());
        } else if constexpr (std::is_arithmetic_v<T>) {
          if constexpr (!std::is_same_v<T, bool>) {
            number(static_cast<double>(*field));
          }
        } else {
          for (auto value : *field) number(static_cast<double>(value));
          size(field->size());
        }
      },
      field_);
}

ConfigNode Option::write() const {
  return std::visit([](auto* field) { return write_field(field); }, field_);
}

void OptionSet::read(const ConfigNode& map, const std::string& section,
                     const std::vector<std::string>& skip) const {
  if (map.kind == ConfigNode::Kind::kNull) return;
  if (!map.is_map()) {
    fail(map, section, "must be a map of options, got " + shown(map));
  }
  for (const auto& [key, value] : map.entries) {
    if (std::count(skip.begin(), skip.end(), key)) continue;
    const auto option = std::find_if(
        options_.begin(), options_.end(), [&key = key](const Option& o) {
          return o.name() == key || (!key.empty() && o.old_name() == key);
        });
    const std::string path = section.empty() ? key : section + "." + key;
    if (option == options_.end()) {
      std::vector<std::string> known = skip;
      for (const Option& o : options_) known.push_back(o.name());
      throw_unknown(value.where, "key", path, known);
    }
    if (option->name() != key) {
      if (map.find(option->name()) != nullptr) {
        fail(value, path,
             "is the old name of '" + option->name() +
                 "', which is set too: leave the old one out");
      }
      log_once(value.where, "'" + path + "' is now called '" + option->name() +
                                "'; the old name goes in the next version");
    }
    option->read(value, path);
  }
}

void OptionSet::check(const std::string& section) const {
  for (const Option& option : options_) {
    option.check(ConfigNode(), section + "." + option.name());
  }
}

std::string by_keys(const std::string& message, const std::string& part,
                    const std::string& section, const ConfigNode& map) {
  const std::string own = "'" + part + ".";
  std::string text;
  size_t at = 0;
  for (size_t begin; (begin = message.find(own, at)) != std::string::npos;) {
    text += message.substr(at, begin - at) + "'" +
            (section.empty() ? "" : section + ".");
    at = begin + own.size();
  }
  text += message.substr(at);
  if (!message.starts_with(own)) return text;
  const size_t end = message.find_first_of("': ", own.size());
  const ConfigNode* value =
      map.find(message.substr(own.size(), end - own.size()));
  const std::string& where = value != nullptr ? value->where : map.where;
  return where.empty() ? text : where + ": " + text;
}

ConfigNode OptionSet::write() const {
  ConfigNode map = ConfigNode::map();
  for (const Option& option : options_) map.set(option.name(), option.write());
  return map;
}

std::string nearest_name(const std::string& word,
                         const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    const size_t longest = std::max(word.size(), candidate.size());
    if (distance < std::min(best_distance, longest)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string join(const std::vector<std::string>& words,
                 const std::string& separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string unknown_message(const std::string& where, const std::string& what,
                            const std::string& word,
                            const std::vector<std::string>& known,
                            const std::vector<std::string>& also) {
  const size_t dot = word.rfind('.');
  const std::string last =
      dot == std::string::npos ? word : word.substr(dot + 1);
  std::string hint = kith_calls_it(what, word);
  if (!hint.empty()) {
    hint = "; " + hint + ".";
  } else {
    std::vector<std::string> names = known;
    names.insert(names.end(), also.begin(), also.end());
    const std::string near = nearest_name(last, names);
    hint = near.empty() ? "." : "; did you mean '" + near + "'?";
  }
  return (where.empty() ? "" : where + ": ") + "unknown " + what + " '" + word +
         "'" + hint + (known.empty() ? "" : " Known: " + join(known) + ".");
}

void throw_unknown(const std::string& where, const std::string& what,
                   const std::string& word,
                   const std::vector<std::string>& known,
                   const std::vector<std::string>& also) {
  throw UnknownName(unknown_message(where, what, word, known, also), what,
                    word);
}

}  // namespace kith
