#pragma once

#include <string>

namespace kith {

/// Prints the recipes of a folder, as `kith train` and `kith sweep` take them.
/// Without a folder: of the sources that the program was built from, or of its
/// installation.
void list_recipes(const std::string& folder, bool json);

}  // namespace kith
