#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "kith/use/embed_images.h"

namespace kith {

/// What `kith eval` and `kith embed` let users say about descriptors. Values
/// that are not given leave those of the run's configuration.
struct DescriptorFlags {
  DescriptorChoice values;
  int64_t long_side = -1;
  int64_t dim = -1;
  std::string whiten;

  void add_to(CLI::App& command);
  /// ConfigError for a --whiten that means nothing.
  DescriptorChoice choice() const;
};

}  // namespace kith
