#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "kith/core/config.h"

namespace kith {

/// One option of a part of kith: its name, its help, what is allowed, and the
/// field that holds its value.
class Option {
 public:
  using Field = std::variant<bool*, int64_t*, double*, std::string*,
                             std::vector<int64_t>*, std::vector<double>*,
                             std::vector<std::string>*>;

  Option(std::string name, Field field, std::string help);

  /// Numbers (each entry, for a list) must lie in [lo, hi].
  Option& range(double lo, double hi = std::numeric_limits<double>::infinity());
  /// Numbers must be greater than zero.
  Option& positive();
  /// Text must be one of these.
  Option& choices(std::vector<std::string> allowed);
  /// A list must have at least one entry.
  Option& not_empty();
  /// The key's name in the version before: still read, with a warning.
  Option& was(std::string old_name);

  const std::string& name() const { return name_; }
  const std::string& old_name() const { return old_name_; }
  const std::string& help() const { return help_; }
  /// "float", "list of int", ...
  std::string type_name() const;
  /// "in [0, 1]", "one of adam, sgd", or empty.
  std::string constraint() const;

  /// Reads the field from a node; `path` is the full key, for errors.
  void read(const ConfigNode& node, const std::string& path) const;
  /// The field's value as a node.
  ConfigNode write() const;
  /// Throws ConfigError if the field's value is not allowed; names the place of
  /// the node that it is from, if it is from one.
  void check(const ConfigNode& node, const std::string& path) const;

 private:
  std::string name_;
  std::string old_name_;  // empty: it always had this one
  Field field_;
  std::string help_;
  double lo_ = -std::numeric_limits<double>::infinity();
  double hi_ = std::numeric_limits<double>::infinity();
  bool above_zero_ = false;
  bool not_empty_ = false;
  std::vector<std::string> choices_;
};

/// The options of a part, described once. Parsing, defaults, ranges, help,
/// unknown-key errors, `kith list` and the stored configuration all walk this
/// list. A part with options is a struct with defaults and
///
///     void describe(OptionSet& set) {
///       set.add("t2", t2, "Temperature of the rank sigmoid.").positive();
///     }
class OptionSet {
 public:
  template <class T>
  Option& add(std::string name, T& field, std::string help) {
    return options_.emplace_back(std::move(name), &field, std::move(help));
  }

  const std::vector<Option>& options() const { return options_; }

  /// Reads all options from a map. `section` is the map's own key ("loss");
  /// keys in `skip` belong to somebody else ("name"). Throws ConfigError on an
  /// unknown key (with the nearest name), an old name beside the present one, a
  /// wrong type or a value out of range.
  void read(const ConfigNode& map, const std::string& section,
            const std::vector<std::string>& skip = {}) const;

  /// A map of all options with their present values.
  ConfigNode write() const;

  /// Checks the present values as read() checks a map's: those of a struct that
  /// was filled in C++. Throws ConfigError.
  void check(const std::string& section) const;

 private:
  std::vector<Option> options_;
};

/// Reads a struct that has describe(); what the map does not say is as in
/// `options`.
template <class T>
T read_options(const ConfigNode& map, const std::string& section,
               const std::vector<std::string>& skip = {}, T options = {}) {
  OptionSet set;
  options.describe(set);
  set.read(map, section, skip);
  return options;
}

/// The same options, if their values are allowed; ConfigError if not. `section`
/// is what the error calls the part: "recall_at_k".
template <class T>
T checked(T options, const std::string& section) {
  OptionSet set;
  options.describe(set);
  set.check(section);
  return options;
}

/// What a part says of its options ("'recall_at_k.k' ..."), for the one who
/// wrote the map that it is made from: by the keys of its section
/// ("'loss.k' ..."), with the place of the key where the message begins with
/// it.
std::string by_keys(const std::string& message, const std::string& part,
                    const std::string& section, const ConfigNode& map);

template <class T>
ConfigNode write_options(T options) {
  OptionSet set;
  options.describe(set);
  return set.write();
}

/// The candidate with the smallest edit distance to `word`, or an empty string
/// if none is near enough to be a likely misspelling.
std::string nearest_name(const std::string& word,
                         const std::vector<std::string>& candidates);

/// "a, b, c".
std::string join(const std::vector<std::string>& words,
                 const std::string& separator = ", ");

/// What to say of a name that is not known: what it names, the nearest name
/// and all the names there are. `also` are other names of these, which are
/// told only if one is near.
std::string unknown_message(const std::string& where, const std::string& what,
                            const std::string& word,
                            const std::vector<std::string>& known,
                            const std::vector<std::string>& also = {});

/// Throws it as ConfigError.
[[noreturn]] void throw_unknown(const std::string& where,
                                const std::string& what,
                                const std::string& word,
                                const std::vector<std::string>& known,
                                const std::vector<std::string>& also = {});

}  // namespace kith
