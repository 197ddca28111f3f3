#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "kith/core/config.h"
#include "kith/core/error.h"
#include "kith/core/options.h"

namespace kith {

/// An option as `kith list` shows it.
struct OptionInfo {
  std::string name;
  std::string type;
  std::string constraint;
  std::string help;
  ConfigNode default_value;
};

/// What the documentation says of a part beside its summary and options.
struct PartFacts {
  const char* formula = "";  ///< Lines of plain text.
  const char* source = "";   ///< The publication.
  const char* cost = "";     ///< Time and memory.
  /// Items of tests/golden that it is tested against, with commas between.
  const char* golden = "";
};

/// What a kind of parts says of each besides its PartFacts: Base::Traits, if
/// there is such a type.
template <class Base>
struct TraitsOf {
  struct type {};
};

template <class Base>
requires requires { typename Base::Traits; }
struct TraitsOf<Base> {
  using type = typename Base::Traits;
};

/// The parts of one kind (losses, samplers, ...) by name. A part is a class
///
///     class Type : public Base {
///       static constexpr const char* kSummary = "one line";
///       static constexpr PartFacts kFacts = {...};  // may be left out
///       static constexpr Traits kTraits = {...};  // of Base; may be left out
///       using Options = ...;                      // has describe(OptionSet&)
///       Type(const Options&, const Args&...);     // or of options alone
///     };
///
/// and ends its .cpp with KITH_REGISTER(registry(), "name", Type). In a
/// configuration a part is a map: `name` and its options beside it.
///
/// Errors of a part call its options by its own name, "'name.option'", as
/// checked() does; make() says the key of the configuration and its line.
template <class Base, class... Args>
class Registry {
 public:
  struct Entry {
    std::string summary;
    PartFacts facts;
    typename TraitsOf<Base>::type traits;
    const std::type_info* type = nullptr;
    bool is_shape = false;             ///< Of a part with a name of its own.
    std::vector<std::string> aliases;  ///< Names elsewhere, which work too.
    std::function<std::unique_ptr<Base>(const ConfigNode&, const std::string&,
                                        const Args&...)>
        make;
    std::function<ConfigNode(const ConfigNode&, const std::string&)> complete;
    std::function<std::vector<OptionInfo>()> options;
  };

  /// `kind` is the singular, for errors: "loss".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  template <class Type>
  bool add(const std::string& name) {
    Entry entry = entry_of<Type>(typename Type::Options());
    entry.summary = Type::kSummary;
    if constexpr (requires { Type::kFacts; }) entry.facts = Type::kFacts;
    KITH_ASSERT(entries_.emplace(name, std::move(entry)).second);
    return true;
  }

  /// A part that add() knows, with other defaults under a name of its own: the
  /// network "resnet50" is a shape of "resnet". `aliases` are what others call
  /// it.
  template <class Type>
  bool add_shape(const std::string& name, std::string summary,
                 typename Type::Options defaults,
                 std::vector<std::string> aliases = {}) {
    Entry entry = entry_of<Type>(std::move(defaults));
    entry.summary = std::move(summary);
    entry.is_shape = true;
    for (const std::string& alias : aliases) {
      KITH_ASSERT(aliases_.emplace(alias, name).second);
    }
    entry.aliases = std::move(aliases);
    KITH_ASSERT(entries_.emplace(name, std::move(entry)).second);
    return true;
  }

  const std::string& kind() const { return kind_; }
  const std::map<std::string, Entry>& entries() const { return entries_; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

  bool contains(const std::string& name) const {
    return entries_.find(own_name(name)) != entries_.end();
  }

  /// What kith calls a part that may be given by an alias.
  std::string own_name(const std::string& name) const {
    const auto alias = aliases_.find(name);
    return alias == aliases_.end() ? name : alias->second;
  }

  /// Throws ConfigError, with the known names, for a name that is not there.
  const Entry& at(const std::string& name, const std::string& where) const {
    const auto found = entries_.find(own_name(name));
    if (found != entries_.end()) return found->second;
    std::vector<std::string> also;
    for (const auto& [alias, own] : aliases_) also.push_back(alias);
    throw_unknown(where, kind_, name, names(), also);
  }

  /// The part that an entry is a shape of; empty if it is no shape.
  std::string shape_of(const Entry& entry) const {
    return entry.is_shape ? name_of(*entry.type) : "";
  }

  /// The name of a part by its class, not that of a shape; empty if it is none
  /// of these parts.
  std::string name_of(const std::type_info& type) const {
    for (const auto& [name, entry] : entries_) {
      if (!entry.is_shape && *entry.type == type) return name;
    }
    return "";
  }

  /// Makes the part that `node` (a map with `name`) describes.
  std::unique_ptr<Base> make(const ConfigNode& node, const std::string& section,
                             const Args&... args) const {
    const ConfigNode& name = name_of(node, section);
    const Entry& entry = at(name.scalar, name.where);
    const std::string part =
        entry.is_shape ? name_of(*entry.type) : name.scalar;
    const auto said = [&](const std::exception& error) {
      return by_keys(error.what(), part, section, node);
    };
    try {
      return entry.make(node, section, args...);
    } catch (const ConfigError& error) {
      if (said(error) == error.what()) throw;
      throw ConfigError(said(error));
    } catch (const DataError& error) {
      if (said(error) == error.what()) throw;  // keeps its class
      throw DataError(said(error));
    }
  }

  /// The same map with every option of the part present.
  ConfigNode complete(const ConfigNode& node,
                      const std::string& section) const {
    const ConfigNode& name = name_of(node, section);
    ConfigNode all = ConfigNode::map();
    all.set("name", ConfigNode::text(own_name(name.scalar)));
    merge_config(all, at(name.scalar, name.where).complete(node, section));
    return all;
  }

 private:
  template <class Type>
  static Entry entry_of(typename Type::Options defaults) {
    using Options = typename Type::Options;
    Entry entry;
    entry.type = &typeid(Type);
    if constexpr (requires { Type::kTraits; }) entry.traits = Type::kTraits;
    entry.make = [defaults](const ConfigNode& node, const std::string& section,
                            const Args&... args) -> std::unique_ptr<Base> {
      Options options =
          read_options<Options>(node, section, {"name"}, defaults);
      if constexpr (std::is_constructible_v<Type, Options, const Args&...>) {
        return std::make_unique<Type>(std::move(options), args...);
      } else {
        return std::make_unique<Type>(std::move(options));
      }
    };
    entry.complete = [defaults](const ConfigNode& node,
                                const std::string& section) {
      return write_options(
          read_options<Options>(node, section, {"name"}, defaults));
    };
    entry.options = [defaults] {
      Options options = defaults;
      OptionSet set;
      options.describe(set);
      std::vector<OptionInfo> infos;
      for (const Option& o : set.options()) {
        infos.push_back(
            {o.name(), o.type_name(), o.constraint(), o.help(), o.write()});
      }
      return infos;
    };
    return entry;
  }

  const ConfigNode& name_of(const ConfigNode& node,
                            const std::string& section) const {
    const ConfigNode* name = node.is_map() ? node.find("name") : nullptr;
    if (name == nullptr || name->kind != ConfigNode::Kind::kScalar) {
      throw ConfigError((node.where.empty() ? "" : node.where + ": ") + "'" +
                        section + "' needs a 'name'; one of " + join(names()));
    }
    return *name;
  }

  std::string kind_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> aliases_;  ///< To names of entries.
};

/// For parts without options.
struct NoOptions {
  void describe(OptionSet&) {}
};

}  // namespace kith

#define KITH_JOIN2(a, b) a##b
#define KITH_JOIN(a, b) KITH_JOIN2(a, b)

/// Last line of a part's .cpp file, inside namespace kith.
#define KITH_REGISTER(registry, name, Type)     \
  [[maybe_unused]] static const bool KITH_JOIN( \
      kith_registered_, __COUNTER__) = (registry).template add<Type>(name)
