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

}  // namespace kith
