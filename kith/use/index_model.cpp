#include "kith/use/index_model.h"

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/models/weights_hash.h"

namespace kith {

LoadedModel load_index_model(const StoredIndex& index, const std::string& path,
                             const std::string& model, c10::Device device) {
  const IndexInfo& info = index.info();
  const std::string& from = model.empty() ? info.model : model;
  if (from.empty()) {
    throw ConfigError(path +
                      " was made of embeddings and does not name their model: "
                      "give it with option 'model'");
  }
  if (model.empty() && !path_exists(from)) {
    throw DataError(path + ": the model it was made with, " + from +
                    ", is gone; say where it is with option 'model'");
  }
  LoadedModel loaded = load_model(from, device);
  if (info.model_hash.empty()) {
    log_warning("it is not known whether " + path + " was made with " + from);
  } else if (weights_hash(loaded.net->state()) != info.model_hash) {
    throw DataError(
        from + ": not the weights that " + path +
        " was made with; give that model with option 'model', or make "
        "the index anew: kith index " +
        from + ", with option 'overwrite'");
  }
  return loaded;
}

}  // namespace kith
