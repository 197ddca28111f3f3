#pragma once

#include <cstdint>
#include <string>

#include "kith/onnx/onnx_model.h"

namespace kith {

/// What the server calls the model in a folder: as the folder. ConfigError if
/// that is no name that the server takes.
std::string triton_model_name(const std::string& folder);

/// Writes a folder of the Triton server's model repository, with batches that
/// it makes of single requests:
///
///     config.pbtxt   the name, input, output, batching
///     1/model.onnx   the model, as version 1
///
/// config.pbtxt is removed first and written last. Returns the bytes of the
/// model.
int64_t write_triton_model(const OnnxModel& model, const std::string& name,
                           const std::string& folder);

/// Whether a folder was written by write_triton_model(), or by one that was
/// stopped, and nothing else is in it.
bool is_triton_model(const std::string& folder);

}  // namespace kith
