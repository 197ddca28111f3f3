#include "kith/use/index_source.h"

#include <unordered_set>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/index/stored_index.h"
#include "kith/models/weights_hash.h"
#include "kith/ops/pairwise.h"
#include "kith/use/files.h"

namespace kith {
namespace {

/// Another index, without what was removed from it.
class StoredSource final : public IndexSource {
 public:
  explicit StoredSource(const IndexSourceOptions& options)
      : path_(options.source),
        index_(StoredIndex::open(options.source, options.memory_mb)) {
    dim_ = index_.dim();
    model_ = index_.info().model;
    model_hash_ = index_.info().model_hash;
    checkpoint_ = index_.info().checkpoint;
    checkpoint_text_ = index_.info().checkpoint_text;
    threshold_ = index_.info().threshold;
    pictures_root_ = index_.info().pictures_root;
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
    if (const std::string& kind = index_.info().kind;
        kind == "float16" || kind == "int8") {
      log_info(path_ + ": an index of kind " + kind +
               " keeps rounded vectors: what is made of it has these");
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

void refuse(const std::string& value, const std::string& option,
            const std::string& with) {
  if (value.empty()) return;
  throw ConfigError("option '" + option + "' goes with " + with +
                    " only; leave it out");
}

/// An index of faiss that has lost INDEX.json.
void refuse_lone_index(const std::string& path) {
  if (!is_file(path)) return;
  const FileReader file(path);
  char mark[4] = {};
  if (file.size() < sizeof(mark)) return;
  file.read_at(0, mark, sizeof(mark));
  const std::string_view kind(mark, sizeof(mark));
  if (kind != "IxFI" && kind != "IxSQ" && kind != "IHNf" && kind != "IwPQ") {
    return;
  }
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

std::unique_ptr<IndexSource> open_kind(const IndexSourceOptions& options,
                                       c10::Device device, int64_t first_name) {
  const std::string& source = options.source;
  const auto refuse_images = [&] {
    refuse(options.images, "images", "a model");
    refuse(options.split, "split", "a model");
    if (options.model.empty()) {
      refuse(options.checkpoint, "checkpoint", "a model");
    }
  };
  if (source.ends_with(".npy")) {
    refuse_images();
    return embedding_source(options, first_name);
  }
  refuse(options.ids, "ids", "embeddings (.npy)");
  refuse(options.labels, "labels", "embeddings (.npy)");
  refuse(options.model, "model", "embeddings (.npy)");
  const bool is_index = !is_folder(source) && path_exists(source + ".json");
  if (!path_exists(source) && !is_index) {
    throw DataError(source +
                    ": no such file or folder; expected embeddings (.npy), a "
                    "run, a checkpoint, an export or an index");
  }
  if (is_index) {
    refuse_images();
    return std::make_unique<StoredSource>(options);
  }
  refuse_lone_index(source);
  return image_source(options, device);
}

}  // namespace

void IndexSource::set_model(const std::string& path,
                            const ChosenCheckpoint& checkpoint,
                            const EmbeddingNet& net) {
  model_ = absolute_path(path);
  model_hash_ = weights_hash(net.state());
  checkpoint_text_ = checkpoint.name.empty() ? "" : checkpoint.text();
  if (!is_folder(path)) return;  // the file says which
  checkpoint_ = checkpoint.name == "epoch" ? std::to_string(checkpoint.epoch)
                                           : checkpoint.name;
}

std::unique_ptr<IndexSource> open_index_source(
    const IndexSourceOptions& options, c10::Device device, int64_t first_name) {
  std::unique_ptr<IndexSource> opened = open_kind(options, device, first_name);
  warn_of_repeats(opened->items(), options.source);
  return opened;
}

void check_pictures_root(const ItemTable& items, const std::string& root) {
  if (root.empty()) return;
  if (!is_folder(root)) {
    throw ConfigError("option 'pictures_root' " + root + ": no such folder");
  }
  for (int64_t i = 0; i < items.size(); ++i) {
    const std::string_view path = items.path(i);
    if (is_below(path, root)) continue;
    throw ConfigError(std::string(path) + " is not below " + root +
                      ", the folder that all pictures of the index must be "
                      "below (option 'pictures_root')");
  }
}

void check_cut(const IndexSource& source, int64_t dim) {
  if (dim <= source.dim()) return;
  throw ConfigError("option 'dim' is " + std::to_string(dim) +
                    ", but the vectors have " + std::to_string(source.dim()) +
                    " numbers: give at most that, or leave it out for all");
}

Rows cut_rows(const Rows& rows, int64_t dim) {
  if (!rows.defined() || dim == rows.dim()) return rows;
  return rows_from(
      rows.count(), dim, [rows, dim](int64_t first, int64_t count) {
        Tensor block =
            normalize_rows(rows.read(first, count).narrow(1, 0, dim));
        check_unit(
            block,
            "the first " + std::to_string(dim) + " numbers of the vectors",
            first);
        return block;
      });
}

Rows watched_rows(const Rows& rows, Progress& progress) {
  progress.start("index", rows.count());
  return rows_from(rows.count(), rows.dim(),
                   [rows, &progress](int64_t first, int64_t count) {
                     Tensor block = rows.read(first, count);
                     progress.advance(first + count, "");
                     return block;
                   });
}

}  // namespace kith
