#pragma once

#include <CLI/CLI.hpp>

#include "kith/use/index_source.h"

namespace kith {

/// More than any machine has, and no overflow in bytes.
constexpr int64_t kMostMemoryMb = int64_t{1} << 30;

/// What the commands that fill an index are told of a source.
void add_source_flags(CLI::App& command, IndexSourceOptions& options);

}  // namespace kith
