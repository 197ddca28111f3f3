#pragma once

#include <cstdint>
#include <string>

#include "kith/onnx/export_onnx.h"
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
  bool onnx = false;              ///< With model.onnx.
  bool triton = false;            ///< As a model of the Triton server instead.
  bool huggingface = false;       ///< As timm and Hugging Face have it instead.
  OnnxOptions onnx_options = {};  ///< Of both.
};

struct ExportedRun {
  ChosenCheckpoint checkpoint;  ///< What was exported.
  int64_t dim = 0;              ///< Of an embedding.
  int64_t bytes = 0;            ///< Of the weights, or of the Triton model.
};

/// Writes a network for use elsewhere (see export_model, onnx_model,
/// write_triton_model and export_huggingface). ConfigError if the folder has
/// anything but an earlier export of the same kind. One that is replaced is
/// there whole until the new one is.
ExportedRun export_run(const ExportRunOptions& options);

}  // namespace kith
