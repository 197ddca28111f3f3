#include "kith/train/export_model.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/path.h"
#include "kith/run/run_place.h"
#include "kith/train/export_text.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelJson = "model.json";
constexpr const char* kPreprocessing = "preprocessing.json";
constexpr const char* kReadme = "README.md";

/// Whether a file has a name that export_model() gives, also on its way.
bool is_export_file(const std::string& name) {
  return name == kExportedWeights || name == kModelJson ||
         name == kPreprocessing || name == kReadme ||
         (name.starts_with(".kith-") && name.ends_with(".tmp"));
}

}  // namespace

void export_model(const LoadedModel& model, const ExportSource& source,
                  const std::string& folder) {
  // First, for it reads the configuration, which may be wrong.
  const std::string description = model_text(model, source);
  const std::string readme = readme_text(model);
  make_folders(folder);
  const fs::path out(folder);
  remove_file(out / kModelJson);
  ConfigNode config = model.config;
  forget_start(config);
  save_model((out / kExportedWeights).string(), *model.net, config);
  write_file_atomically((out / kPreprocessing).string(),
                        preprocessing_text(model.net->input()));
  write_file_atomically((out / kReadme).string(), readme);
  write_file_atomically((out / kModelJson).string(), description);
}

bool is_export(const std::string& folder) {
  const fs::path path(folder);
  if (!is_saved_model((path / kExportedWeights).string())) return false;
  if (is_file(path / kModelJson)) return true;
  for (const std::string& name : names_in(path)) {
    if (!is_export_file(name)) return false;
  }
  return true;
}

std::string origin_of(const std::string& checkpoint) {
  const fs::path file(checkpoint);
  const fs::path description = file.parent_path() / kModelJson;
  if (file.filename() != kExportedWeights || !is_saved_model(checkpoint) ||
      !is_file(description)) {
    return checkpoint;
  }
  constexpr int64_t kMostBytes = 1 << 20;
  if (bytes_of(description) > kMostBytes) return checkpoint;
  try {
    return parse_json(read_file(description.string(), kMostBytes))
        .at("training")
        .at("checkpoint")
        .get<std::string>();
  } catch (const nlohmann::json::exception&) {
    return checkpoint;
  }
}

}  // namespace kith
