#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "kith/core/progress.h"
#include "kith/eval/embed.h"

namespace kith {

/// What `kith eval` and `kith embed` let users say about descriptors. Values
/// that are not given leave those of the run's configuration.
struct DescriptorFlags {
  std::vector<double> scales;
  int64_t long_side = -1;
  bool flip = false;
  std::string whiten;

  void add_to(CLI::App& command);
  void apply(DescriptorOptions& options) const;

  /// The whitening of --whiten: a file, or learnt from the descriptors of the
  /// training split ("train" or "train:DIM"); nothing without it.
  std::optional<Whitening> whitening(EmbeddingNet& net, const DataSet& data,
                                     EmbedOptions options,
                                     Progress& progress) const;
};

}  // namespace kith
