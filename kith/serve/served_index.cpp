#include "kith/serve/served_index.h"

#include <algorithm>
#include <thread>

#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/index/index_files.h"

namespace kith {
namespace {

/// Between tries of what cannot be opened: one second, two, ... at most.
constexpr int kLongestWait = 60;
/// Requests that still have the index of before the last take no longer.
constexpr double kOlderSeconds = 10;

}  // namespace

IndexSnapshot::IndexSnapshot(StoredIndex opened)
    : index(std::make_shared<const StoredIndex>(std::move(opened))) {
  for (int64_t i = 0; i < index->count(); ++i) {
    if (!index->is_removed(i)) ++classes[std::string(index->items().label(i))];
  }
  classes.erase("");  // items without a class
}

ServedIndex::ServedIndex(ServedIndexOptions options, StoredIndex first,
                         const FileMark& mark, SearchService& service)
    : options_(std::move(options)),
      service_(service),
      pictures_(options_.path.empty() ? "index" : options_.path),
      loaded_(mark) {
  service_.check_fits(first);
  snapshot_ = std::make_shared<const IndexSnapshot>(std::move(first));
  stats_.name = options_.name;
}

ServedIndex::Snapshot ServedIndex::now() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

std::optional<IndexThreshold> ServedIndex::threshold(
    const StoredIndex& index) const {
  return options_.threshold ? options_.threshold : index.info().threshold;
}

std::string_view ServedIndex::id_of(const StoredIndex& index,
                                    int64_t position) const {
  return pictures_.id_of(index.items().path(position));
}

ItemPlace ServedIndex::place_of(const StoredIndex& index,
                                int64_t position) const {
  const std::string_view path = index.items().path(position);
  const std::string& root = options_.pictures_root.empty()
                                ? index.info().pictures_root
                                : options_.pictures_root;
  // What clients added is beside the index, wherever other pictures are.
  return {position, pictures_.file_of(path),
          pictures_.is_kept(path) ? "" : root};
}

int64_t ServedIndex::find(const StoredIndex& index, std::string_view id) const {
  for (int64_t i = 0; i < index.count(); ++i) {
    if (id_of(index, i) == id && !index.is_removed(i)) return i;
  }
  return -1;
}

void ServedIndex::check_model(const StoredIndex& index) const {
  service_.check_fits(index);
  const std::string& hash = index.info().model_hash;
  if (hash.empty() || options_.model_hash.empty() ||
      hash == options_.model_hash) {
    return;
  }
  throw ConfigError("it was made with other weights (" + index.info().model +
                    ") than those that are served: start the server again");
}

void ServedIndex::look(Look look) {
  if (options_.path.empty()) return;
  const std::lock_guard looking(looking_);
  // Before it is opened: what changes meanwhile is seen the next time.
  const FileMark mark = file_mark(record_path(options_.path));
  const bool is_anyway = look == Look::kAnyway;
  if (!is_anyway) {
    if (mark == loaded_ && !refused_) return;
    if (mark == refused_ && Clock::now() < again_at_) return;
  }
  open(mark, /*is_told=*/true, /*is_told_again=*/is_anyway);
}

void ServedIndex::change(const std::function<void()>& write) {
  const std::lock_guard looking(looking_);
  write();
  open(file_mark(record_path(options_.path)), /*is_told=*/false,
       /*is_told_again=*/true);
}

void ServedIndex::open(const FileMark& mark, bool is_told, bool is_told_again) {
  try {
    if (mark.inode == 0) {
      throw DataError(record_path(options_.path) + " is gone");
    }
    wait_for_older();
    StoredIndex opened =
        StoredIndex::open(options_.path, options_.memory_mb, options_.device);
    check_model(opened);
    Snapshot next = std::make_shared<const IndexSnapshot>(std::move(opened));
    const int64_t items = next->index->size();
    const std::lock_guard lock(mutex_);
    older_ = snapshot_;
    snapshot_.swap(next);
    ++stats_.reloads;
    stats_.is_stale = false;
    loaded_ = mark;
    refused_.reset();
    refusals_ = 0;
    if (!is_told) return;
    log_info(options_.path + " is loaded again: " + std::to_string(items) +
             " items, " + std::to_string(next->index->size()) + " before");
  } catch (const std::exception& error) {
    refuse(mark, is_told_again, error.what());
  }
}

/// So that no more than two are in memory: the one that is searched, which
/// requests keep for a while, and the new one.
void ServedIndex::wait_for_older() const {
  const Timer timer;
  while (!older_.expired() && timer.seconds() < kOlderSeconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void ServedIndex::refuse(const FileMark& mark, bool is_told_again,
                         const std::string& why) {
  const bool is_known = mark == refused_;
  refused_ = mark;
  const int wait = std::min(1 << std::min(refusals_++, 10), kLongestWait);
  again_at_ = Clock::now() + std::chrono::seconds(wait);
  {
    const std::lock_guard lock(mutex_);
    ++stats_.failed_reloads;
    stats_.is_stale = true;
  }
  if (is_known && !is_told_again) return;
  log_warning(options_.path +
              " has changed, but what is there now cannot be served; the "
              "index of before still is, and it is tried again: " +
              why);
}

IndexStats ServedIndex::stats() const {
  const std::lock_guard lock(mutex_);
  IndexStats stats = stats_;
  stats.items = snapshot_->index->size();
  stats.picture_bytes = pictures_.bytes();
  return stats;
}

void ServedIndex::count_changes(int64_t added, int64_t removed) {
  const std::lock_guard lock(mutex_);
  stats_.added += added;
  stats_.removed += removed;
}

}  // namespace kith
