#include "kith/use/index_model.h"

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/models/weights_hash.h"
#include "kith/run/choose_checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/train/model_embedding.h"

namespace kith {
namespace {

[[noreturn]] void throw_other_weights(const std::string& from,
                                      const ChosenCheckpoint& chosen,
                                      const StoredIndex& index,
                                      const std::string& path,
                                      bool is_as_named) {
  const IndexInfo& info = index.info();
  const bool is_run = !chosen.name.empty();
  const std::string now = is_run ? chosen.text() : "";
  std::string made = path + " was made with";
  if (!info.checkpoint_text.empty()) made += ", the " + info.checkpoint_text;
  const bool has_changed = is_as_named && is_run && !info.checkpoint.empty() &&
                           now != info.checkpoint_text;
  throw DataError(
      from + (is_run ? ", " + now : "") + ": not the weights that " + made +
      (has_changed ? "; the run has been trained on since" : "") +
      "; give that model with option 'model'" +
      (is_run ? ", or its checkpoint with option 'checkpoint'" : "") +
      ", or make the index anew: kith index " + from +
      ", with option 'overwrite'");
}

/// An index may hold the first numbers of embeddings alone.
void cut_to_index(LoadedModel& model, const StoredIndex& index) {
  const int64_t whole = model.net->dim();
  const int64_t dim = index.dim();
  if (dim == model_descriptor(model).dim_of(whole) || dim > whole) return;
  cut_embeddings(model, dim);
  log_info("of embeddings the first " + std::to_string(dim) + " of " +
           std::to_string(whole) + " numbers, as in the index");
}

}  // namespace

LoadedModel load_index_model(const StoredIndex& index, const std::string& path,
                             const IndexModelChoice& choice,
                             c10::Device device) {
  const IndexInfo& info = index.info();
  const std::string& from = choice.model.empty() ? info.model : choice.model;
  if (from.empty()) {
    throw ConfigError(path +
                      " was made of embeddings and does not name their model: "
                      "give it with option 'model'");
  }
  if (choice.model.empty() && !path_exists(from)) {
    throw DataError(path + ": the model it was made with, " + from +
                    ", is gone; say where it is with option 'model'");
  }
  std::string which = choice.checkpoint;
  if (which.empty() && is_folder(RunFolder(from).checkpoints())) {
    which = info.checkpoint;
  }
  const ChosenCheckpoint chosen = choose_checkpoint(from, which);
  LoadedModel loaded = load_model(chosen.file, device);
  if (info.model_hash.empty()) {
    log_warning("it is not known whether " + path + " was made with " + from);
  } else if (weights_hash(loaded.net->state()) != info.model_hash) {
    throw_other_weights(from, chosen, index, path, which == info.checkpoint);
  } else {
    cut_to_index(loaded, index);
  }
  log_info("model: " + from +
           (chosen.name.empty() ? "" : ", " + chosen.text()));
  return loaded;
}

}  // namespace kith
