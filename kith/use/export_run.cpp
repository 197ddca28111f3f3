#include "kith/use/export_run.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/core/whole_folder.h"
#include "kith/onnx/triton.h"
#include "kith/train/export_huggingface.h"
#include "kith/train/export_model.h"
#include "kith/train/model_embedding.h"

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
  const std::vector<std::string> names = names_in(options.out);
  // A process that was killed may have come no further than a temporary.
  if (std::all_of(names.begin(), names.end(), is_temporary_file)) return;
  const bool is_earlier = options.triton ? is_triton_model(options.out)
                          : options.huggingface
                              ? is_huggingface_export(options.out)
                              : is_export(options.out);
  if (!is_earlier) {
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

/// Whatever happens, an export that was there is there, or the new one. Files
/// of others stay where they are: then it is written into the folder.
void write_export(const ExportRunOptions& options,
                  const std::function<void(const std::string&)>& write) {
  const bool has_others = !options.triton && !options.huggingface &&
                          path_exists(options.out) &&
                          !has_export_alone(options.out);
  if (!has_others) return write_whole_folder(options.out, write);
  log_info(options.out +
           " has other files too, which stay: its files are replaced one by "
           "one");
  write(options.out);
}

/// The network as ONNX, with what somebody needs who has that file alone.
OnnxModel onnx_of(const LoadedModel& model, const ExportRunOptions& options) {
  if (!model_descriptor(model).is_plain()) {
    log_info(
        "the ONNX model embeds one picture; kith's own embedding is a mean "
        "over "
        "scales or mirror images (eval.scales, eval.long_side, eval.flip)");
  }
  const auto preprocessing =
      nlohmann::ordered_json::parse(preprocessing_text(model.net->input()));
  const std::string dim = std::to_string(model.net->dim());
  OnnxNotes notes;
  notes.version = options.version;
  notes.description =
      "An embedding network, exported by kith: of a picture it makes a vector "
      "of " +
      dim + " numbers.";
  notes.metadata = {
      {"kith_version", options.version},
      {"dim", dim},
      {"metric", model.net->is_unit() ? "cosine" : "inner product"},
      {"preprocessing", preprocessing.dump()}};
  return onnx_model(*model.net, options.onnx_options, notes);
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
  ExportSource source = {std::move(origin), options.version};
  ExportedRun exported{checkpoint, model.net->dim()};
  std::function<void(const std::string&)> write;
  if (options.huggingface) {
    write = [&](const std::string& folder) {
      exported.bytes = export_huggingface(model, source, folder);
    };
  } else if (options.triton) {
    write = [&, name = triton_model_name(options.out),
             onnx = onnx_of(model, options)](const std::string& folder) {
      exported.bytes = write_triton_model(onnx, name, folder);
    };
  } else {
    if (options.onnx) {
      source.write_onnx =
          [onnx = onnx_of(model, options)](const std::string& path) {
            write_onnx(onnx, path);
          };
    }
    write = [&](const std::string& folder) {
      export_model(model, source, folder);
      exported.bytes = bytes_of(fs::path(folder) / kExportedWeights);
    };
  }
  write_export(options, write);
  return exported;
}

}  // namespace kith
