#pragma once

#include <CLI/CLI.hpp>

namespace kith {

/// Each adds a subcommand of `kith plot`.
void add_plot_rsk(CLI::App& plot);
void add_plot_class_means(CLI::App& plot);

}  // namespace kith
