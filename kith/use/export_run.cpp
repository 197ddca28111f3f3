#include "kith/use/export_run.h"

#include <filesystem>

#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/run/run_folder.h"
#include "kith/train/export_model.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// The checkpoint that the options mean.
std::string chosen_checkpoint(const ExportRunOptions& options) {
  const std::string& model = options.model;
  if (options.checkpoint.empty()) return find_checkpoint(model);
  const bool has_one_network = !is_folder(RunFolder(model).checkpoints()) &&
                               path_exists(fs::path(model) / kExportedWeights);
  if (is_folder(model) && !has_one_network) {
    return find_checkpoint(model, options.checkpoint);
  }
  throw ConfigError("option 'checkpoint' chooses one of a run's folder, but " +
                    model + " is not a run: leave it out");
}

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
  const std::string checkpoint = chosen_checkpoint(options);
  check_export_folder(options, checkpoint);
  const LoadedModel model = load_model(checkpoint, at::kCPU);
  export_model(model, {origin_of(checkpoint), options.version}, options.out);
  return {checkpoint, model.net->dim(),
          bytes_of(fs::path(options.out) / kExportedWeights)};
}

}  // namespace kith
