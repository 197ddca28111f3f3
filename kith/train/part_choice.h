#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "kith/core/registry.h"

namespace kith {

/// A part by its class and options: part<RecallAtK>({.t2 = 0.05}).
template <class Type>
struct PartOptions {
  typename Type::Options options = {};
};

template <class Type>
PartOptions<Type> part(typename Type::Options options = {}) {
  return {std::move(options)};
}

/// Which part of a kind a training has: an object that its user made, or
/// options, of which one is made when what it depends on is there (a sampler
/// needs the images, an optimiser the parameters). Knows what a configuration
/// would say of it.
template <class Base, class... Args>
class PartChoice {
 public:
  PartChoice() = default;  ///< Left out.

  /// None, where there would be one if it were left out.
  PartChoice(std::nullptr_t) : options_() {  // NOLINT: is a choice
    make_ = [](const Args&...) -> std::shared_ptr<Base> { return nullptr; };
  }

  template <std::derived_from<Base> Type>
  PartChoice(std::shared_ptr<Type> object) {  // NOLINT: an object is a choice
    if (object == nullptr) {
      *this = PartChoice(nullptr);
      return;
    }
    type_ = &typeid(*object);
    make_ = [object](const Args&...) -> std::shared_ptr<Base> {
      return object;
    };
    options_.set("made", ConfigNode::text("in C++"));
  }

  template <std::derived_from<Base> Type>
  PartChoice(std::unique_ptr<Type> object)  // NOLINT: as well
      : PartChoice(std::shared_ptr<Type>(std::move(object))) {}

  template <std::derived_from<Base> Type>
  PartChoice(PartOptions<Type> chosen)  // NOLINT: as well
      : type_(&typeid(Type)), options_(write_options(chosen.options)) {
    make_ = [options = std::move(chosen.options)](
                const Args&... args) -> std::shared_ptr<Base> {
      if constexpr (std::is_constructible_v<Type, typename Type::Options,
                                            const Args&...>) {
        return std::make_shared<Type>(options, args...);
      } else {
        return std::make_shared<Type>(options);
      }
    };
  }

  /// The part that a section of a configuration describes.
  PartChoice(const Registry<Base, Args...>& registry, const ConfigNode& node,
             const std::string& section)
      : options_(registry.complete(node, section)) {
    make_ = [&registry, node,
             section](const Args&... args) -> std::shared_ptr<Base> {
      return registry.make(node, section, args...);
    };
  }

  /// Whether it was not left out.
  explicit operator bool() const { return make_ != nullptr; }

  /// Null if there is none.
  std::shared_ptr<Base> make(const Args&... args) const {
    return make_ ? make_(args...) : nullptr;
  }

  /// As a section of a configuration: name and options. The name of a class
  /// that is not registered is "own"; the options of an object are not known.
  ConfigNode section(const Registry<Base, Args...>& registry) const {
    if (!make_) return ConfigNode();
    if (type_ == nullptr) return options_;
    const std::string name = registry.name_of(*type_);
    ConfigNode all = ConfigNode::map();
    all.set("name", ConfigNode::text(name.empty() ? "own" : name));
    merge_config(all, options_);
    return all;
  }

 private:
  const std::type_info* type_ = nullptr;  ///< Null: options_ has the name.
  ConfigNode options_ = ConfigNode::map();
  std::function<std::shared_ptr<Base>(const Args&...)> make_;
};

}  // namespace kith
