#pragma once

#include <cstdint>
#include <string>

#include "kith/run/checkpoint.h"
#include "kith/train/export_model.h"

namespace kith {

/// Writes a network to a folder as timm and Hugging Face's hub have it:
///
///     config.json         the network's name in timm, or in torchvision where
///                         timm lacks it, and its pictures
///     model.safetensors   the backbone, by the names there
///     head.safetensors    parameters of the head, if it has any
///     README.md           the model card, with the code that uses them
///
/// timm.create_model("local-dir:FOLDER", pretrained=True) reads it, and so does
/// load_weights() (kith/models). Returns the bytes of the weights. ConfigError
/// if neither library has the backbone or can prepare its pictures. Files of an
/// earlier export are replaced; config.json is removed first and written last.
int64_t export_huggingface(const LoadedModel& model, const ExportSource& source,
                           const std::string& folder);

/// Whether a folder was written by export_huggingface(), or by one that was
/// stopped, and nothing else is in it.
bool is_huggingface_export(const std::string& folder);

}  // namespace kith
