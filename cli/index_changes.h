#pragma once

#include <CLI/CLI.hpp>

namespace kith {

/// Adds `add`, `remove` and `info` to the command `index`.
void add_index_changes(CLI::App& index);

}  // namespace kith
