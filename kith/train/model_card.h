#pragma once

#include <string>

#include "kith/models/published_form.h"
#include "kith/run/checkpoint.h"
#include "kith/train/export_model.h"

namespace kith {

/// The model card of a network, README.md as Hugging Face's hub reads it: in
/// front what it is and what was measured, as YAML; then how it was trained,
/// how pictures are prepared, the metrics as a table, and Python that uses it.
std::string model_card(const LoadedModel& model, const ExportSource& source,
                       const PublishedForm& form);

}  // namespace kith
