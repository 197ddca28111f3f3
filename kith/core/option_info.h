#pragma once

#include <vector>

#include "kith/core/registry.h"

namespace kith {

/// The options of a set as `kith list` shows them.
inline std::vector<OptionInfo> infos_of(const OptionSet& set) {
  std::vector<OptionInfo> infos;
  for (const Option& o : set.options()) {
    infos.push_back(
        {o.name(), o.type_name(), o.constraint(), o.help(), o.write()});
  }
  return infos;
}

/// Those of a struct that has describe().
template <class T>
std::vector<OptionInfo> option_infos() {
  T options;
  OptionSet set;
  options.describe(set);
  return infos_of(set);
}

/// Those of a shape whose defaults are not the ones of its part.
inline std::vector<OptionInfo> changed_options(
    const std::vector<OptionInfo>& shape, const std::vector<OptionInfo>& part) {
  std::vector<OptionInfo> changed;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool same =
        to_yaml(shape[i].default_value) == to_yaml(part.at(i).default_value);
    if (!same) changed.push_back(shape[i]);
  }
  return changed;
}

}  // namespace kith
