#include "kith/use/export_run.h"

#include <filesystem>

#include "kith/core/error.h"
#include "kith/run/run_folder.h"
#include "kith/train/export_model.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// The checkpoint that the options mean.
std::string chosen_checkpoint(const ExportRunOptions& options) {
  const std::string& model = options.model;
  if (options.checkpoint.empty()) return find_checkpoint(model);
  const bool has_one_network =
      !fs::is_directory(RunFolder(model).checkpoints()) &&
      fs::exists(fs::path(model) / kExportedWeights);
  if (fs::is_directory(model) && !has_one_network) {
    return find_checkpoint(model, options.checkpoint);
  }
  throw ConfigError("option 'checkpoint' chooses one of a run's folder, but " +
                    model + " is not a run: leave it out");
}

/// Nothing but an earlier export is ever written over.
void check_export_folder(const ExportRunOptions& options,
                         const std::string& checkpoint) {
  const std::string out = "option 'out' " + options.out;
  if (!fs::exists(options.out)) return;
  if (!fs::is_directory(options.out)) {
    throw ConfigError(out + ": is a file; give a folder");
  }
  if (fs::is_empty(options.out)) return;
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
  const auto bytes = fs::file_size(fs::path(options.out) / kExportedWeights);
  return {checkpoint, model.net->dim(), static_cast<int64_t>(bytes)};
}

}  // namespace kith
