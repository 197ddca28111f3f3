#include "cli/index_source.h"

#include <filesystem>
#include <unordered_set>

#include "cli/common.h"
#include "cli/files.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/index/stored_index.h"
#include "kith/models/weights_hash.h"
#include "kith/train/model_embedding.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// Another index, without what was removed from it.
class StoredSource final : public IndexSource {
 public:
  explicit StoredSource(const SourceFlags& flags)
      : path_(flags.source),
        index_(StoredIndex::open(flags.source, flags.memory_mb)) {
    dim_ = index_.dim();
    model_ = index_.info().model;
    model_hash_ = index_.info().model_hash;
    for (int64_t i = 0; i < index_.count(); ++i) {
      if (index_.is_removed(i)) continue;
      kept_.push_back(i);
      items_.add(index_.items().path(i), index_.items().label(i));
    }
  }

  Rows rows(const std::string&, Progress&) override {
    const Rows all = index_.rows();
    if (!all.defined()) {
      throw DataError(path_ + ": an index of kind " + index_.info().kind +
                      " does not keep its vectors; give the embeddings or the "
                      "model it was made from instead");
    }
    if (std::ssize(kept_) == all.count()) return all;
    return rows_from(std::ssize(kept_), dim_,
                     [this, all](int64_t first, int64_t count) {
                       const auto begin = kept_.begin() + first;
                       return rows_at(all, {begin, begin + count});
                     });
  }

 private:
  std::string path_;
  StoredIndex index_;
  std::vector<int64_t> kept_;
};

void refuse(const std::string& value, const char* flag, const char* with) {
  if (value.empty()) return;
  throw ConfigError(std::string(flag) + " goes with " + with +
                    " only; leave it out");
}

/// An index of faiss that has lost INDEX.json.
void refuse_lone_index(const std::string& path) {
  if (!fs::is_regular_file(path)) return;
  const FileReader file(path);
  char mark[4] = {};
  if (file.size() < sizeof(mark)) return;
  file.read_at(0, mark, sizeof(mark));
  const std::string_view kind(mark, sizeof(mark));
  if (kind != "IxFI" && kind != "IHNf" && kind != "IwPQ") return;
  throw DataError(path + ": an index of faiss, but " + path +
                  ".json is missing, which kith index writes beside it; give "
                  "the embeddings (.npy) or the model instead");
}

/// Names are what items are removed by, and replaced.
void warn_of_repeats(const ItemTable& items, const std::string& source) {
  std::unordered_set<std::string_view> seen;
  seen.reserve(static_cast<size_t>(items.size()));
  int64_t repeats = 0;
  std::string_view first;
  for (int64_t i = 0; i < items.size(); ++i) {
    if (seen.insert(items.path(i)).second) continue;
    if (repeats++ == 0) first = items.path(i);
  }
  if (repeats == 0) return;
  log_warning(source + ": " + std::to_string(repeats) +
              " items have the name of another one (first: " +
              std::string(first) + "); they are removed together");
}

}  // namespace

void IndexSource::set_model(const std::string& path, const EmbeddingNet& net) {
  model_ = absolute_path(path);
  model_hash_ = weights_hash(net.state());
}

void SourceFlags::add_to(CLI::App& command) {
  command.add_option("source", source,
                     "Embeddings (.npy), a model (a run, a checkpoint, an "
                     "export) for images, or another index");
  command.add_option("--images", images,
                     "With a model: a folder (one folder a class, or images "
                     "alone), a list (.csv) or a configuration (.yaml); "
                     "default: what the run is evaluated with");
  command
      .add_option("--split", split,
                  "With a model: which images; default: all of --images, or "
                  "the run's evaluation split")
      ->check(one_of({"train", "validation", "test", "all"}));
  command.add_option("--ids", ids,
                     "With embeddings: paths or names, one a line; default: "
                     "numbers");
  command.add_option("--labels", labels,
                     "With embeddings: classes, one a line, or a .npy of "
                     "integers");
  command.add_option("--model", model,
                     "With embeddings: the model that made them, so that "
                     "images can be searched for");
  command
      .add_option("--memory-mb", memory_mb,
                  "Vectors that take more are read a block at a time")
      ->check(integer(1, kMostMemoryMb))
      ->capture_default_str();
}

std::unique_ptr<IndexSource> SourceFlags::open(c10::Device device,
                                               int64_t first_name) const {
  std::unique_ptr<IndexSource> opened = open_kind(device, first_name);
  warn_of_repeats(opened->items(), source);
  return opened;
}

std::unique_ptr<IndexSource> SourceFlags::open_kind(c10::Device device,
                                                    int64_t first_name) const {
  if (source.ends_with(".npy")) {
    refuse(images, "--images", "a model");
    refuse(split, "--split", "a model");
    return embedding_source(*this, first_name);
  }
  for (const auto& [value, flag] :
       {std::pair(&ids, "--ids"), {&labels, "--labels"}, {&model, "--model"}}) {
    refuse(*value, flag, "embeddings (.npy)");
  }
  const bool is_index =
      !fs::is_directory(source) && fs::exists(source + ".json");
  if (!fs::exists(source) && !is_index) {
    throw DataError(source +
                    ": no such file or folder; expected embeddings (.npy), a "
                    "run, a checkpoint, an export or an index");
  }
  if (is_index) {
    refuse(images, "--images", "a model");
    refuse(split, "--split", "a model");
    return std::make_unique<StoredSource>(*this);
  }
  refuse_lone_index(source);
  return image_source(*this, device);
}

Rows watched(const Rows& rows) {
  progress_bar().start("index", rows.count());
  return rows_from(rows.count(), rows.dim(),
                   [rows](int64_t first, int64_t count) {
                     Tensor block = rows.read(first, count);
                     progress_bar().advance(first + count, "");
                     return block;
                   });
}

EmbedOptions usual_embedding(const LoadedModel& model) {
  EmbedOptions options{EvalOptions().batch, {worker_count(0), 2}};
  if (const ConfigNode* section = model.config.find("eval")) {
    options.batch = read_options<EvalOptions>(*section, "eval").batch;
  }
  options.descriptor = model_descriptor(model);
  return options;
}

}  // namespace kith
