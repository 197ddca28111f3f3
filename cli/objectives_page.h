#pragma once

#include <string>
#include <vector>

#include "kith/core/option_info.h"
#include "kith/core/registry.h"

namespace kith {

/// A part as it is shown, whatever registry it comes from.
struct Part {
  std::string name;
  std::string summary;
  PartFacts facts;
  std::vector<OptionInfo> options;
  std::string embeddings = {};  ///< Of a loss: those that it is defined on.
  std::string miner = {};       ///< Of a loss: that of its tuples by default.
  std::string shape_of = {};    ///< The part that it is a shape of, or empty.
  std::vector<OptionInfo> changed = {};   ///< Options with other defaults.
  std::vector<std::string> aliases = {};  ///< Names elsewhere.
};

template <class Parts>
std::vector<Part> parts_of(const Parts& registry) {
  std::vector<Part> parts;
  for (const auto& [name, entry] : registry.entries()) {
    parts.push_back({name, entry.summary, entry.facts, entry.options()});
    parts.back().shape_of = registry.shape_of(entry);
    parts.back().aliases = entry.aliases;
    if (entry.is_shape) {
      const auto& part = registry.at(parts.back().shape_of, "");
      parts.back().changed =
          changed_options(parts.back().options, part.options());
    }
    if constexpr (requires { entry.traits.miner; }) {
      parts.back().miner = entry.traits.miner;
    }
  }
  return parts;
}

/// A value of an option as YAML, on one line.
std::string one_line(const ConfigNode& value);

/// The words of a list with commas between: "a, b" is {"a", "b"}.
std::vector<std::string> split_list(const std::string& text);

/// docs/objectives.md, in Markdown: every part with its formula, source, cost,
/// options and the published values that it is tested against.
std::string objectives_page(const std::vector<Part>& losses,
                            const std::vector<Part>& miners,
                            const std::vector<Part>& samplers);

}  // namespace kith
