#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// "#rrggbb" of the n-th class: hues a golden angle apart, so that classes
/// near in number differ, and a luminance that is seen on white and on black.
std::string class_colour(int64_t number);

}  // namespace kith
