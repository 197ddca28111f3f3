#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/core/config.h"
#include "kith/train/train_options.h"

namespace kith {

/// A whole configuration: the effective tree, in which every option of every
/// section is present, and its sections without plug-ins as structs.
struct RunConfig {
  ConfigNode tree;
  TrainOptions train;
  EvalOptions eval;
  LogOptions log;
  /// What a paper printed for this configuration: metric and percent.
  std::vector<std::pair<std::string, double>> published;
  std::string published_source;
  /// Keys that the user left to take_pretrained_defaults().
  std::vector<std::string> pretrained_defaults;
  /// What was taken from the files beside the weights, as a line of the log.
  std::string weights_config;
  /// Keys that the user left open, of those that a log tells
  /// (find_open_keys()).
  std::vector<std::string> open_keys;

  const ConfigNode& section(const char* name) const;
};

/// Checks a user's configuration against the descriptions of all its parts and
/// fills in every default. Throws ConfigError; touches no data but the files
/// that describe published weights (see take_weights_config): where data
/// decide, `model.input.colour` is "auto" (see settle_colour).
RunConfig complete_config(const ConfigNode& user);

}  // namespace kith
