#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "kith/use/published_model.h"

namespace kith {

/// A command takes a model of kith's, or a network as it was published.
struct PublishedFlags {
  PublishedModel published;

  /// Adds the positional `model` and the flags that take its place.
  void add_to(CLI::App& command, std::string& model);

  /// ConfigError unless just one of the two is given.
  void check(const std::string& command, const std::string& model) const;
};

}  // namespace kith
