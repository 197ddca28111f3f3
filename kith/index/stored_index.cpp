#include "kith/index/stored_index.h"

#include <algorithm>
#include <unordered_set>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/core/timer.h"
#include "kith/index/index_files.h"
#include "kith/io/file_sums.h"

namespace kith {
namespace {

void check_fit(const std::string& path, const VectorIndex& index,
               const ItemTable& items, const IndexRecord& record) {
  const auto refuse = [&](const std::string& why) {
    throw DataError(path + ": " + why +
                    "; the three files are not of one index: make it anew");
  };
  if (record.dim != index.dim()) {
    refuse("vectors of " + std::to_string(index.dim()) + " numbers, but " +
           record_path(path) + " says " + std::to_string(record.dim));
  }
  if (index.exact() != (record.info.kind == "exact")) {
    refuse("not of the kind '" + record.info.kind + "' that " +
           record_path(path) + " says");
  }
  if (index.count() != record.count) {
    refuse(path + " has " + std::to_string(index.count()) + " items, but " +
           record_path(path) + " says " + std::to_string(record.count));
  }
  if (items.size() != index.count()) {
    refuse(items_path(path) + " has " + std::to_string(items.size()) +
           " items for " + std::to_string(index.count()) + " vectors");
  }
}

void check_files_are_there(const std::string& path) {
  if (path_exists(record_path(path))) return;
  if (!path_exists(path)) {
    throw DataError(path + ": no such file; kith index makes an index");
  }
  throw DataError(record_path(path) +
                  " is missing, which says what the index beside it is: keep " +
                  "the three files together, or make it anew");
}

/// Whether an index has not been replaced since its record was read.
bool is_current(const std::string& path, const IndexRecord& record,
                const IndexData& data) {
  try {
    const IndexRecord now = read_index_record(record_path(path));
    return now.files.generation == record.files.generation &&
           current_data(path, now) == data;
  } catch (const DataError&) {
    return true;  // what is wrong with it has been said
  }
}

/// Neighbours of all queries together that are asked for at a time.
constexpr int64_t kMostFound = 1 << 24;
/// Numbers in a copy of the vectors that a filter lets pass.
constexpr int64_t kMostCopied = 1 << 26;

using Hits = std::vector<SearchHit>;

/// The first `wanted` of a row that `may` be found.
Hits first_hits(const Neighbours& found, int64_t row, int64_t wanted,
                const std::function<bool(int64_t)>& may) {
  Hits hits;
  const int64_t width = found.indices.size(1);
  const int64_t* position = found.indices.data_ptr<int64_t>() + row * width;
  const float* similarity = found.similarities.data_ptr<float>() + row * width;
  for (int64_t j = 0; j < width; ++j) {
    if (position[j] < 0 || static_cast<int64_t>(hits.size()) == wanted) break;
    if (may(position[j])) hits.push_back({position[j], similarity[j]});
  }
  return hits;
}

Tensor pick(const Tensor& rows, const std::vector<int64_t>& which) {
  return rows.index_select(0, torch::tensor(which, torch::kLong));
}

}  // namespace

/// A search for the neighbours of `rows` that `may` be found.
struct StoredIndex::Search {
  const VectorIndex& index;
  const Tensor& rows;
  int64_t wanted;
  std::function<bool(int64_t)> may;
  std::vector<Hits> hits;
  std::vector<int64_t> open;  ///< Queries with fewer hits than wanted.

  /// Takes the hits among the nearest `fetch` of each open query: exactly if
  /// that is all of them, for a graph need not lead to every vector.
  void fetch(int64_t fetch) {
    const Rows all = fetch == index.count() ? index.rows() : Rows();
    SearchOptions options;
    options.k = fetch;
    std::vector<int64_t> still_open;
    const auto step =
        static_cast<size_t>(std::max<int64_t>(kMostFound / fetch, 1));
    for (size_t first = 0; first < open.size(); first += step) {
      const size_t last = std::min(first + step, open.size());
      const std::vector<int64_t> some(open.data() + first, open.data() + last);
      const Tensor queries = pick(rows, some);
      const Neighbours found =
          all.defined()
              ? exact_search(queries.to(all.device()), all, {}, options)
              : index.search(queries, fetch);
      for (size_t i = 0; i < some.size(); ++i) {
        Hits& best = hits[static_cast<size_t>(some[i])];
        best = first_hits(found, static_cast<int64_t>(i), wanted, may);
        if (static_cast<int64_t>(best.size()) < wanted) {
          still_open.push_back(some[i]);
        }
      }
    }
    open = std::move(still_open);
  }

  /// Searches among all that may be found, exactly, if they are few: a class of
  /// ten images among a million is found without ranking the million.
  bool among_few() {
    const Rows all = index.rows();
    if (!all.defined()) return false;
    const auto most = static_cast<size_t>(kMostCopied / index.dim());
    std::vector<int64_t> few;
    for (int64_t i = 0; i < index.count() && few.size() <= most; ++i) {
      if (may(i)) few.push_back(i);
    }
    if (few.size() > most ||
        few.size() > static_cast<size_t>(index.count()) / 4)
      return false;
    if (few.empty()) return true;
    SearchOptions options;
    options.k = wanted;
    const Neighbours found =
        exact_search(pick(rows, open), rows_at(all, few), {}, options);
    const auto any = [](int64_t) { return true; };
    for (size_t i = 0; i < open.size(); ++i) {
      Hits& best = hits[static_cast<size_t>(open[i])];
      best = first_hits(found, static_cast<int64_t>(i), wanted, any);
      for (SearchHit& hit : best) {
        hit.position = few[static_cast<size_t>(hit.position)];
      }
    }
    return true;
  }
};

StoredIndex::StoredIndex(std::unique_ptr<VectorIndex> index, ItemTable items,
                         IndexInfo info)
    : index_(std::move(index)),
      items_(std::move(items)),
      info_(std::move(info)) {
  TORCH_CHECK_VALUE(items_.size() == index_->count(), "an index of ",
                    index_->count(), " vectors cannot have ", items_.size(),
                    " items");
}

StoredIndex StoredIndex::open(const std::string& path, int64_t memory_mb,
                              c10::Device device) {
  // Another process may replace it meanwhile, even twice, so that it is what it
  // was before: an error counts when it comes again.
  constexpr double kPatienceSeconds = 10;
  constexpr int kMostFailures = 2;
  const Timer timer;
  for (int failures = 0;;) {
    check_files_are_there(path);
    const IndexRecord record = read_index_record(record_path(path));
    const IndexData data = current_data(path, record);
    try {
      StoredIndex opened = open_record(path, record, memory_mb, device);
      if (is_current(path, record, data)) return opened;
      if (timer.seconds() > kPatienceSeconds) return opened;
    } catch (const DataError&) {
      if (is_current(path, record, data)) ++failures;
      if (failures == kMostFailures || timer.seconds() > kPatienceSeconds) {
        throw;
      }
    }
  }
}

StoredIndex StoredIndex::open_record(const std::string& path,
                                     IndexRecord record, int64_t memory_mb,
                                     c10::Device device) {
  const IndexData data = current_data(path, record);
  auto index =
      load_vector_index(data.vectors, memory_mb, device, record.files.vectors);
  const FileReader file(data.items);
  FileCheck(file, record.files.items).check_all(file);
  ItemTable items = read_items(data.items);
  check_fit(path, *index, items, record);
  StoredIndex stored(std::move(index), std::move(items),
                     std::move(record.info));
  stored.opened_at_ = path;
  stored.files_ = std::move(record.files);
  return stored;
}

void StoredIndex::save(const std::string& path) const {
  settle_index(path);
  if (path != opened_at_ || changed_) {
    replace_files(path);
  } else {
    write_index_record(record_path(path), {info_, count(), dim(), files_});
  }
}

void StoredIndex::replace_files(const std::string& path) const {
  try {
    const IndexData data = waiting_data(path, kUnfinished);
    index_->save(data.vectors);
    write_items(data.items, items_);
    IndexRecord record = {info_, count(), dim()};
    switch_index(path, data, record);
  } catch (...) {
    try {
      settle_index(path);
    } catch (const std::exception&) {  // the first one is the one to tell
    }
    throw;
  }
}

int64_t StoredIndex::size() const { return count() - info_.removed.size(); }

int64_t StoredIndex::count() const { return index_->count(); }
int64_t StoredIndex::dim() const { return index_->dim(); }

IndexItem StoredIndex::item(int64_t position) const {
  return {std::string(items_.path(position)),
          std::string(items_.label(position))};
}

bool StoredIndex::is_removed(int64_t position) const {
  return info_.removed.contains(position);
}

std::vector<std::vector<SearchHit>> StoredIndex::search(
    const Tensor& queries, int64_t k,
    const std::function<bool(int64_t)>& keep) const {
  TORCH_CHECK_VALUE(k > 0, "k must be positive, got ", k);
  const Tensor rows = check_index_rows(queries, dim());
  Search search{*index_, rows, std::min(k, size()), {}, {}, {}};
  search.may = [&](int64_t position) {
    return !is_removed(position) && (!keep || keep(position));
  };
  search.hits.resize(static_cast<size_t>(rows.size(0)));
  if (search.wanted == 0) return search.hits;
  for (int64_t i = 0; i < rows.size(0); ++i) search.open.push_back(i);
  // Some more than wanted at first, if any are to be left out.
  const bool all = info_.removed.empty() && !keep;
  int64_t fetch = std::min(search.wanted * (all ? 1 : 4), count());
  search.fetch(fetch);
  if (keep && !search.open.empty() && search.among_few()) return search.hits;
  while (!search.open.empty() && fetch < count()) {
    fetch = std::min(8 * fetch, count());
    search.fetch(fetch);
  }
  return search.hits;
}

Tensor StoredIndex::vector(int64_t position) const {
  KITH_ASSERT(position >= 0 && position < count());
  const Rows all = rows();
  return all.defined() ? all.read(position, 1)[0].cpu() : Tensor();
}

void StoredIndex::add(const Rows& rows, const ItemTable& items) {
  TORCH_CHECK_VALUE(rows.count() == items.size(), items.size(),
                    " items need as many vectors, got ", rows.count());
  index_->add_rows(rows);
  for (int64_t i = 0; i < items.size(); ++i) {
    items_.add(items.path(i), items.label(i));
  }
  info_.recall.clear();
  changed_ = true;
}

int64_t StoredIndex::remove(const std::vector<std::string>& paths) {
  const std::unordered_set<std::string_view> gone(paths.begin(), paths.end());
  PositionSet removed;
  int64_t found = 0;
  for (int64_t i = 0; i < count(); ++i) {
    const bool before = is_removed(i);
    const bool now = !before && gone.count(items_.path(i)) > 0;
    if (now) ++found;
    if (before || now) removed.append({i, i});
  }
  info_.removed = std::move(removed);
  return found;
}

}  // namespace kith
