#pragma once

#include <string>
#include <vector>

#include "kith/core/registry.h"

namespace kith {

/// A part that a section can name, with the keys that it has then.
struct ConfigPart {
  std::string name;
  std::vector<OptionInfo> options;  ///< Of a shape: with defaults of its own.
  std::string shape_of = {};        ///< The part that it is a shape of.
  std::vector<std::string> aliases = {};  ///< Names that work too.
};

/// A section of a configuration and all keys that it can have.
struct ConfigSection {
  std::string key;    ///< "train", "model.head"; "augment[]": of each entry.
  std::string about;  ///< One sentence.
  std::vector<OptionInfo> options;  ///< Keys of the section itself.
  std::vector<ConfigPart> parts;    ///< Or of the part that it names.
  std::string usual;  ///< The part without a `name`; empty: it needs one.
};

/// Every section of a training and of a study, in the order in which they are
/// usually written. From the descriptions that configurations are read by, so
/// that parts of plug-ins are among them.
std::vector<ConfigSection> configuration_sections();

}  // namespace kith
