#pragma once

#include <CLI/CLI.hpp>

namespace kith {

/// `kith data show`, a subcommand of `data`.
void add_data_show(CLI::App& data);

}  // namespace kith
