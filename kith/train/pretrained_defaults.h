#pragma once

#include <string>
#include <vector>

#include "kith/train/run_config.h"

namespace kith {

/// Gives a configuration whose network starts from pretrained weights
/// (`model.weights`) what suits these, where it does not say otherwise:
///
/// - `augment`: random_resized_crop to the size of the input, with 0.16 to 1 of
///   the area, then flip; none with `model.input.long_side`, where pictures
///   stay whole;
/// - `optimizer.name`: adamw;
/// - `optimizer.lr`: 1e-4, of adam and adamw;
/// - `model.input.size` and `filter` and `model.head.pooling`: those that the
///   weights are usually used with, if the backbone says so.
///
/// Mean and std of the weights' pictures are InputOptions::settle()'s. Returns
/// the keys that the user left to it, those two among them; none without
/// weights. A stored configuration names every key, so it stays what it was.
std::vector<std::string> take_pretrained_defaults(ConfigNode& user);

/// One line about what was taken, with the values that a complete configuration
/// has; empty if nothing was.
std::string pretrained_defaults_text(const RunConfig& config);

/// Gives the configuration that a run goes on with the values that the run was
/// begun with, for what take_pretrained_defaults() would take: they may have
/// been others then.
void keep_begun_defaults(const ConfigNode& begun, ConfigNode& user);

}  // namespace kith
