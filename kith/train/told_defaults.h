#pragma once

#include <string>
#include <vector>

#include "kith/train/run_config.h"

namespace kith {

/// Keys that decide what is learnt and that a user's configuration leaves open:
/// of `loss.name`, `model.input.colour`, `model.input.size`, `model.head.l2`,
/// `miner`, `augment` and `model.weights` those that it does not have.
std::vector<std::string> find_open_keys(const ConfigNode& user);

/// One line with what a complete configuration has for the keys that were left
/// open; empty if none was. What other lines of a log tell is left out: a
/// colour that the data decide, lengths that a loss asks for, and what is taken
/// because of pretrained weights.
std::string defaults_text(const RunConfig& config);

/// Says in the log what a training takes from defaults: these and
/// pretrained_defaults_text().
void log_defaults(const RunConfig& config);

}  // namespace kith
