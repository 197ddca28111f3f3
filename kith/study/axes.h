#pragma once

#include <string>
#include <vector>

#include "kith/study/study.h"

namespace kith {

/// The axes of `study.axes`. ConfigError with file and line: an axis without
/// values, a label or name that is there twice, labels that would share a
/// folder.
std::vector<StudyAxis> read_axes(const std::vector<ConfigNode>& nodes);

/// What a plain value, or a list of them ("1,2,4"), is called. ConfigError for
/// anything else.
std::string label_of(const ConfigNode& value, const std::string& axis);

/// The label that a node names for an axis. ConfigError if it has none such.
std::string known_label(const StudyAxis& axis, const ConfigNode& node);

/// Labels by axis, {loss: margin}; those of axes that are not named are empty.
/// ConfigError, which calls the map `what`, if there is none.
Labels read_labels(const ConfigNode& map, const std::string& what,
                   const std::vector<StudyAxis>& axes);

/// A label as the name of a folder: letters, digits and a few signs.
std::string folder_name(const std::string& label);

}  // namespace kith
