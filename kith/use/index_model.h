#pragma once

#include <string>

#include "kith/index/stored_index.h"
#include "kith/run/checkpoint.h"

namespace kith {

/// Where the model that made an index is said to be.
struct IndexModelChoice {
  std::string model = {};       ///< Empty: where the index says.
  std::string checkpoint = {};  ///< Of a run; empty: what the index says.
};

/// The model that made an index's vectors, whose embeddings it cuts to the
/// dimension of the index. `path` names the index in messages.
/// Says in the log which checkpoint of a run it is. ConfigError if no model is
/// named, DataError if it is gone or its weights are other ones: of a run,
/// which has been trained on since, it says so.
LoadedModel load_index_model(const StoredIndex& index, const std::string& path,
                             const IndexModelChoice& choice,
                             c10::Device device);

}  // namespace kith
