#pragma once

#include <string>

#include "kith/train/export_model.h"

namespace kith {

/// model.json of an export: what the network is and where it comes from.
std::string model_text(const LoadedModel& model, const ExportSource& source);

/// preprocessing.json: from an image file to the network's input, as values
/// and as steps in words.
std::string preprocessing_text(const InputOptions& input);

/// README.md. It tells of the example in Python only where that knows the
/// network.
std::string readme_text(const LoadedModel& model);

}  // namespace kith
