#include "kith/use/make_index.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/index/index_files.h"
#include "kith/index/recall.h"
#include "kith/index/stored_index.h"
#include "kith/index/tell_others.h"
#include "kith/use/decide.h"
#include "kith/use/files.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

void check_out(const MakeIndexOptions& options) {
  const std::string& out = options.out;
  if (is_folder(out)) {
    throw ConfigError("option 'out' " + out + " is a folder: name a file, as " +
                      (fs::path(out) / "index.faiss").string());
  }
  std::error_code none;
  if (fs::equivalent(options.source.source, out, none)) {
    throw ConfigError("option 'out' " + out +
                      " is the source too: name another file");
  }
  if (options.overwrite) return;
  for (const std::string& file : {out, out + ".items.csv", out + ".json"}) {
    if (!is_there(file)) continue;
    throw ConfigError("option 'out' " + out + ": " + file +
                      " is there already: option 'overwrite' replaces it, and "
                      "add_to_index() adds to an index");
  }
}

void fill_index(VectorIndex& index, const Rows& rows, uint64_t seed,
                Progress& progress) {
  if (const int64_t wanted = index.training_rows(); wanted > 0) {
    const std::vector<int64_t> drawn =
        draw_positions(rows.count(), wanted, seed);
    log_info("training the index on " + std::to_string(drawn.size()) + " of " +
             std::to_string(rows.count()) + " vectors");
    index.train(rows_at(rows, drawn));
  }
  index.add_rows(watched_rows(rows, progress));
}

/// Of all files of an index.
int64_t index_bytes(const std::string& path) {
  int64_t bytes = 0;
  for (const char* end : {"", ".items.csv", ".json"}) {
    bytes += bytes_of(path + end);
  }
  return bytes;
}

std::string pictures_root_of(const MakeIndexOptions& options,
                             const IndexSource& source) {
  return options.pictures_root.empty() ? source.pictures_root()
                                       : absolute_path(options.pictures_root);
}

/// Fills and saves the index; adds what there is to say of it.
void build_index(std::unique_ptr<VectorIndex> index, const IndexSource& source,
                 const Rows& rows, const MakeIndexOptions& options,
                 Progress& progress, MadeIndex& made) {
  fill_index(*index, rows, options.seed, progress);
  RecallOptions recall;
  recall.seed = options.seed;
  IndexInfo info;
  info.kind = options.kind.name;
  info.model = source.model();
  info.model_hash = source.model_hash();
  info.checkpoint = source.checkpoint();
  info.checkpoint_text = source.checkpoint_text();
  info.threshold = made.threshold;
  info.pictures_root = pictures_root_of(options, source);
  if (!index->exact()) info.recall = measure_recall(*index, rows, recall);
  // An exact index reads the rows only now, and streams them to its file.
  StoredIndex(std::move(index), source.items(), info).save(options.out);
  progress.finish();
  made.bytes = index_bytes(options.out);
  made.recall = info.recall;
  made.recall_queries = std::min(recall.queries, rows.count());
}

}  // namespace

void check_make_index(const MakeIndexOptions& options) {
  if (options.out.empty() && options.export_to.empty()) {
    throw ConfigError(
        "nothing to make: name an index with option 'out', or a folder with "
        "option 'export_to'");
  }
  if (!options.out.empty()) check_out(options);
  if (!options.export_to.empty()) check_shard_folder(options.export_to);
}

namespace {

std::optional<IndexThreshold> threshold_of(const MakeIndexOptions& options,
                                           const IndexSource& source) {
  auto threshold = threshold_for(options.threshold, source.model_hash(),
                                 options.source.source);
  if (!threshold) threshold = source.threshold();
  const std::string& kind = options.kind.name;
  if (threshold && (kind == "ivf_pq" || kind == "int8")) {
    log_warning("similarities of an index of kind " + kind +
                " are approximate, and so is what its threshold accepts");
  }
  return threshold;
}

/// What ranks but the first do.
MadeIndex help_make_index(const MakeIndexOptions& options, c10::Device device,
                          Progress& progress) {
  const std::unique_ptr<IndexSource> source =
      open_index_source(options.source, device);
  source->rows("", progress);
  MadeIndex made;
  made.items = source->items().size();
  made.dim = options.source.dim > 0 ? options.source.dim : source->dim();
  made.kind = options.kind.name;
  return made;
}

MadeIndex write_index(const MakeIndexOptions& options, c10::Device device,
                      Progress& progress) {
  check_make_index(options);
  const std::unique_ptr<IndexSource> source =
      open_index_source(options.source, device);
  // Before any work is done: a wrong option does not wait for it.
  check_cut(*source, options.source.dim);
  const int64_t dim =
      options.source.dim > 0 ? options.source.dim : source->dim();
  std::unique_ptr<VectorIndex> empty;
  std::optional<IndexThreshold> threshold;
  if (!options.out.empty()) {
    threshold = threshold_of(options, *source);
    check_pictures_root(source->items(), pictures_root_of(options, *source));
    empty = options.kind.make({dim, options.seed, source->items().size()});
  }
  const std::string target =
      absolute_path(options.out.empty() ? options.export_to : options.out);
  make_folder_of(target);
  const auto lock = options.out.empty() ? nullptr : lock_index(target);
  const ScratchFile scratch(target);
  const Rows rows = cut_rows(source->rows(scratch.path(), progress), dim);
  MadeIndex made;
  made.items = rows.count();
  made.left_out = static_cast<int64_t>(source->left_out().size());
  if (source->skips_broken()) {
    write_left_out(target + ".left_out.csv", source->left_out());
  }
  made.dim = rows.dim();
  made.kind = options.kind.name;
  made.model = source->model();
  made.checkpoint = source->checkpoint_text();
  made.threshold = std::move(threshold);
  if (empty) {
    build_index(std::move(empty), *source, rows, options, progress, made);
  }
  if (!options.export_to.empty()) {
    made.shards = export_shards(options.export_to, rows, source->items(),
                                {options.shard_rows, options.half,
                                 source->model(), source->model_hash()});
  }
  return made;
}

}  // namespace

MadeIndex make_index(const MakeIndexOptions& options, c10::Device device,
                     Progress& progress) {
  Communicator& ranks = or_alone(options.source.ranks);
  return telling(ranks, [&] {
    return ranks.is_first() ? write_index(options, device, progress)
                            : help_make_index(options, device, progress);
  });
}

}  // namespace kith
