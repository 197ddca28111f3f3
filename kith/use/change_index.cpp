#include "kith/use/change_index.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/index/index_files.h"
#include "kith/index/stored_index.h"
#include "kith/use/files.h"

namespace kith {
namespace {

/// Before a lock is made for it.
void check_index_is_there(const std::string& path) {
  if (is_there(path) || is_there(record_path(path))) return;
  throw DataError(path + ": no such file; kith index makes an index");
}

/// The names of all items that are there.
std::unordered_set<std::string_view> paths_of(const StoredIndex& index) {
  std::unordered_set<std::string_view> paths;
  paths.reserve(static_cast<size_t>(index.size()));
  for (int64_t i = 0; i < index.count(); ++i) {
    if (!index.is_removed(i)) paths.insert(index.items().path(i));
  }
  return paths;
}

/// How many numbers of each vector go into the index: of what the same model
/// made, as many as it has.
int64_t added_dim(const StoredIndex& index, const IndexSource& source,
                  const AddToIndexOptions& options) {
  check_cut(source, options.source.dim);
  if (options.source.dim > 0) return options.source.dim;
  const std::string& hash = index.info().model_hash;
  const bool same_model = !hash.empty() && hash == source.model_hash();
  return same_model && source.dim() > index.dim() ? index.dim() : source.dim();
}

/// Vectors of different models have nothing to do with each other.
void check_same_model(const StoredIndex& index, const IndexSource& source,
                      const AddToIndexOptions& options) {
  const int64_t dim = added_dim(index, source, options);
  if (dim != index.dim()) {
    throw DataError(options.source.source + " has " + std::to_string(dim) +
                    " dimensions, but " + options.index + " has " +
                    std::to_string(index.dim()) +
                    ": add what the same model made");
  }
  const IndexInfo& info = index.info();
  if (info.model_hash.empty() || source.model_hash().empty()) {
    log_warning("it is not known whether " + options.source.source + " and " +
                options.index + " are of the same model");
  } else if (info.model_hash != source.model_hash()) {
    const auto named = [](const std::string& model, const std::string& text) {
      return model + (text.empty() ? "" : ", " + text);
    };
    throw DataError(options.index + " was made with " +
                    named(info.model, info.checkpoint_text) +
                    ", whose weights are not those of " +
                    named(source.model(), source.checkpoint_text()) +
                    ": add with that model, or make the index anew");
  }
}

/// Those items of the source that the index has already.
std::vector<std::string> items_there(const StoredIndex& index,
                                     const IndexSource& source) {
  const std::unordered_set<std::string_view> known = paths_of(index);
  std::vector<std::string> names;
  for (int64_t i = 0; i < source.items().size(); ++i) {
    const std::string_view path = source.items().path(i);
    if (known.contains(path)) names.emplace_back(path);
  }
  return names;
}

/// A number behind all that are names of items. Of those that were removed
/// too: another vector should not be known by their names.
int64_t free_number(const ItemTable& items) {
  int64_t next = items.size();
  for (int64_t i = 0; i < items.size(); ++i) {
    const std::string_view path = items.path(i);
    int64_t number = 0;
    const auto [end, error] =
        std::from_chars(path.data(), path.data() + path.size(), number);
    if (error == std::errc() && end == path.data() + path.size() &&
        number < std::numeric_limits<int64_t>::max()) {
      next = std::max(next, number + 1);
    }
  }
  return next;
}

}  // namespace

AddedToIndex add_to_index(const AddToIndexOptions& options, c10::Device device,
                          Progress& progress) {
  check_index_is_there(options.index);
  const auto lock = lock_index(options.index);
  // What it holds already is copied from its file.
  StoredIndex index = StoredIndex::open(options.index, /*memory_mb=*/0);
  const std::unique_ptr<IndexSource> source =
      open_index_source(options.source, device, free_number(index.items()));
  check_same_model(index, *source, options);
  check_pictures_root(source->items(), index.info().pictures_root);
  const std::vector<std::string> known = items_there(index, *source);
  if (!known.empty() && !options.replace) {
    throw ConfigError(std::to_string(known.size()) + " of " +
                      std::to_string(source->items().size()) +
                      " items are in " + options.index +
                      " already (first: " + known.front() +
                      "): option 'replace' puts the new vectors in their "
                      "place");
  }
  const ScratchFile scratch(options.index);
  const Rows rows =
      cut_rows(source->rows(scratch.path(), progress), index.dim());
  const int64_t replaced = known.empty() ? 0 : index.remove(known);
  const bool had_recall = !index.info().recall.empty();
  index.add(watched_rows(rows, progress), source->items());
  index.save(options.index);
  progress.finish();
  if (had_recall) {
    log_info(
        "the recall that was measured before does not hold any more; make "
        "the index anew to measure it");
  }
  return {rows.count(), replaced, index.size()};
}

RemovedFromIndex remove_from_index(const RemoveFromIndexOptions& options) {
  check_index_is_there(options.index);
  const auto lock = lock_index(options.index);
  StoredIndex index = StoredIndex::open(options.index, /*memory_mb=*/0);
  const std::unordered_set<std::string_view> known = paths_of(index);
  std::vector<std::string> there;
  std::vector<std::string> missing;
  for (const std::string& name : options.names) {
    if (name.empty()) continue;
    const std::string absolute = absolute_path(name);
    if (known.contains(name)) {
      there.push_back(name);
    } else if (known.contains(absolute)) {
      there.push_back(absolute);
    } else {
      missing.push_back(name);
    }
  }
  if (there.empty()) {
    throw DataError(options.list + ": none of its " +
                    std::to_string(missing.size()) + " names is in " +
                    options.index + "; expected paths as in " + options.index +
                    ".items.csv, one per line");
  }
  if (!missing.empty()) {
    log_warning(std::to_string(missing.size()) + " of the names in " +
                options.list +
                " are not in the index (first: " + missing.front() + ")");
  }
  const int64_t removed = index.remove(there);
  index.save(options.index);
  return {removed, std::ssize(missing), index.size()};
}

IndexSummary describe_index(const std::string& path, bool check) {
  const StoredIndex index = StoredIndex::open(path, /*memory_mb=*/0);
  const IndexData data =
      current_data(path, read_index_record(record_path(path)));
  IndexSummary summary;
  summary.info = index.info();
  summary.items = index.size();
  summary.removed = index.count() - index.size();
  summary.dim = index.dim();
  summary.bytes = bytes_of(data.vectors);
  if (check) summary.whole = check_index(path);
  std::unordered_set<std::string_view> classes;
  for (int64_t i = 0; i < index.count(); ++i) {
    const std::string_view label = index.items().label(i);
    if (!label.empty() && !index.is_removed(i)) classes.insert(label);
  }
  summary.classes = std::ssize(classes);
  return summary;
}

}  // namespace kith
