#pragma once

#include <vector>

#include "kith/core/registry.h"

namespace kith {

// The keys of the parts of a section `study`, each beside what reads it.

std::vector<OptionInfo> study_options();       ///< In study.cpp.
std::vector<OptionInfo> axis_options();        ///< In axes.cpp.
std::vector<OptionInfo> claim_options();       ///< In claims.cpp.
std::vector<OptionInfo> evaluation_options();  ///< In evaluation.cpp.
std::vector<OptionInfo> search_options();      ///< In search_space.cpp.
std::vector<OptionInfo> range_options();       ///< Of a key that is searched.

}  // namespace kith
