#pragma once

#include <cstdint>
#include <string>

#include "kith/run/choose_checkpoint.h"
#include "kith/use/published_model.h"

namespace kith {

struct ExportRunOptions {
  std::string model = {};         ///< A run, a checkpoint or an export.
  PublishedModel published = {};  ///< In place of `model`.
  std::string out = {};           ///< The folder to write.
  std::string checkpoint = {};    ///< Of a run; see choose_checkpoint().
  std::string version = {};       ///< Of kith, for model.json.
  bool overwrite = false;         ///< Replace an export that is in the folder.
};

struct ExportedRun {
  ChosenCheckpoint checkpoint;  ///< What was exported.
  int64_t dim = 0;              ///< Of an embedding.
  int64_t bytes = 0;            ///< Of the weights.
};

/// Writes a network for use elsewhere (see export_model). ConfigError if the
/// folder has anything but an earlier export.
ExportedRun export_run(const ExportRunOptions& options);

}  // namespace kith
