#include "kith/use/export_run.h"

#include <filesystem>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/train/export_model.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// Nothing but an earlier export is ever written over.
void check_export_folder(const ExportRunOptions& options,
                         const std::string& checkpoint) {
  const std::string out = "option 'out' " + options.out;
  if (!path_exists(options.out)) return;
  if (!is_folder(options.out)) {
    throw ConfigError(out + ": is a file; give a folder");
  }
  if (names_in(options.out).empty()) return;
  if (!is_export(options.out)) {
    throw ConfigError(
        out + ": has files that are not an export; give another folder");
  }
  const fs::path weights = fs::path(options.out) / kExportedWeights;
  std::error_code ignored;  // of a model that is not there
  if (fs::equivalent(weights, checkpoint, ignored)) {
    throw ConfigError(out + ": is what is to be exported; give another folder");
  }
  if (!options.overwrite) {
    throw ConfigError(out +
                      ": has an export already; option 'overwrite' replaces "
                      "it");
  }
}

}  // namespace

ExportedRun export_run(const ExportRunOptions& options) {
  const PublishedModel& published = options.published;
  const bool is_published =
      !published.weights.empty() || !published.backbone.empty();
  const ChosenCheckpoint checkpoint =
      is_published ? ChosenCheckpoint{.file = published.weights}
                   : choose_checkpoint(options.model, options.checkpoint);
  check_export_folder(options, checkpoint.file);
  const LoadedModel model = is_published
                                ? load_published_model(published, at::kCPU)
                                : load_model(checkpoint.file, at::kCPU);
  ChosenCheckpoint origin = is_published ? checkpoint : origin_of(checkpoint);
  export_model(model, {std::move(origin), options.version}, options.out);
  return {checkpoint, model.net->dim(),
          bytes_of(fs::path(options.out) / kExportedWeights)};
}

}  // namespace kith
