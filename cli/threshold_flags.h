#pragma once

#include <CLI/CLI.hpp>

#include "kith/eval/decision.h"
#include "kith/use/decide.h"

namespace kith {

/// --threshold and --unknown-classes of `kith eval` and `kith metrics`.
CLI::Option* add_threshold_flags(CLI::App& command, ThresholdOptions& options);

/// --threshold of `kith index`, `search` and `serve`. `usual`: what holds
/// without it.
constexpr const char* kThresholdHelp =
    "The least similarity that is an answer, from -1 to 1, or the "
    "threshold.json that kith eval wrote; ";

/// What a threshold does, for people.
void print_decision(const Decision& decision);

}  // namespace kith
