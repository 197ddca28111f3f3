#pragma once

#include <string>

#include "kith/index/stored_index.h"
#include "kith/run/checkpoint.h"

namespace kith {

/// The model that made an index's vectors: where the index says it is, unless
/// `model` is not empty. `path` names the index in messages. ConfigError if no
/// model is named, DataError if it is gone or its weights are other ones.
LoadedModel load_index_model(const StoredIndex& index, const std::string& path,
                             const std::string& model, c10::Device device);

}  // namespace kith
