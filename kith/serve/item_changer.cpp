#include "kith/serve/item_changer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <torch/torch.h>

#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/index/index_files.h"

namespace kith {
namespace {

using Kind = ItemChange::Kind;

constexpr size_t kMostWaiting = 1024;
constexpr size_t kMostTogether = 256;
/// For another program that changes the index.
constexpr double kPatienceSeconds = 10;

HttpResponse busy_elsewhere() {
  return error_response(503, "another program changes the index",
                        "try again when it has ended");
}

/// The changes of a batch against what an index holds: no two of them have an
/// id in common.
class ChangePlan {
 public:
  ChangePlan(const StoredIndex& index, KeptPictures& pictures,
             const std::vector<ItemChange>& batch)
      : pictures_(pictures), next_(index.count()) {
    for (const ItemChange& change : batch) {
      for (const NewItem& item : change.items) there_[item.id];
    }
    for (int64_t i = 0; i < index.count(); ++i) {
      if (index.is_removed(i)) continue;
      const std::string_view path = index.items().path(i);
      const auto found = there_.find(pictures_.id_of(path));
      if (found != there_.end()) found->second.emplace_back(path);
    }
  }

  /// Takes a change in, or says why it cannot be done.
  ChangeOutcome apply(const ItemChange& change, int64_t most_bytes) {
    if (auto fault = check(change, most_bytes)) return {{}, 0, fault};
    ChangeOutcome outcome;
    for (const NewItem& item : change.items) {
      if (change.kind != Kind::kAdd) {
        const auto& paths = there_.find(item.id)->second;
        gone_.insert(gone_.end(), paths.begin(), paths.end());
        outcome.removed += std::ssize(paths);
      }
      if (change.kind == Kind::kRemove) continue;
      const std::string path = pictures_.path_of(item.id, item.picture);
      outcome.added.push_back({next_++, item.id, item.label, path});
      new_.emplace_back(&item, path);
      bytes_ += std::ssize(item.picture);
    }
    return outcome;
  }

  bool is_empty() const { return gone_.empty() && new_.empty(); }

  /// Writes the pictures, then changes the index on disk.
  void write(StoredIndex& index, const std::string& path) {
    try {
      std::vector<KeptPictures::File> files;
      for (const auto& [item, file] : new_) {
        if (!path_exists(file)) made_.push_back(file);
        files.push_back({file, item->picture});
      }
      pictures_.keep(files);
      if (!gone_.empty()) index.remove(gone_);
      if (!new_.empty()) index.add(rows(), items());
      index.save(path);
    } catch (...) {
      for (const std::string& file : made_) pictures_.drop(file);
      throw;
    }
  }

  /// Removes the files of items that are no more.
  void drop_old_pictures() {
    std::set<std::string> kept;
    for (const auto& [item, file] : new_) kept.insert(file);
    for (const std::string& path : gone_) {
      if (!kept.contains(path)) pictures_.drop(path);
    }
  }

 private:
  std::optional<HttpResponse> check(const ItemChange& change,
                                    int64_t most_bytes) const {
    int64_t bytes = pictures_.bytes() + bytes_;
    for (const NewItem& item : change.items) {
      const bool is_there = !there_.find(item.id)->second.empty();
      if (change.kind == Kind::kAdd && is_there) {
        return error_response(409, "there is an item '" + item.id + "' already",
                              "PUT replaces it; or take another id");
      }
      if (change.kind == Kind::kRemove && !is_there) {
        return error_response(404, "there is no item '" + item.id + "'",
                              "it may have been removed already");
      }
      bytes += std::ssize(item.picture);
    }
    if (change.kind == Kind::kRemove || bytes <= most_bytes) return {};
    return error_response(
        507, "the pictures that were added take all the room they may",
        "remove items, or start the server with more room for pictures");
  }

  Tensor rows() const {
    std::vector<Tensor> vectors;
    for (const auto& entry : new_) vectors.push_back(entry.first->vector);
    return torch::stack(vectors);
  }

  ItemTable items() const {
    ItemTable items;
    for (const auto& [item, file] : new_) items.add(file, item->label);
    return items;
  }

  KeptPictures& pictures_;
  int64_t next_;       ///< The position of the next new item.
  int64_t bytes_ = 0;  ///< Of new pictures.
  /// The paths that items with the ids of the batch have.
  std::map<std::string, std::vector<std::string>, std::less<>> there_;
  std::vector<std::string> gone_;
  std::vector<std::pair<const NewItem*, std::string>> new_;
  std::vector<std::string> made_;
};

HttpResponse failure_of(const std::exception& error) {
  log_warning(std::string("a change of an index failed: ") + error.what());
  return error_response(500, "the index could not be changed",
                        "the server's log says why; nothing was changed");
}

}  // namespace

ItemChanger::ItemChanger(ServedIndex& served, int64_t most_bytes)
    : served_(served), most_bytes_(most_bytes) {
  const std::string& path = served_.options().path;
  const auto lock = lock_index(path, kPatienceSeconds);
  const std::vector<std::string> others =
      served_.pictures().count(StoredIndex::open(path, /*memory_mb=*/0));
  if (!others.empty()) {
    log_info(std::to_string(others.size()) + " pictures in " + path +
             ".pictures are of no item of the index any more (first: " +
             others.front() + "); they are not needed");
  }
  thread_ = std::thread([this] { work(); });
}

ItemChanger::~ItemChanger() { stop(); }

void ItemChanger::push(ItemChange change) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) throw BusyError("the server stops");
    if (queue_.size() >= kMostWaiting) {
      throw BusyError("too many changes wait already (" +
                      std::to_string(kMostWaiting) + ")");
    }
    queue_.push_back(std::move(change));
  }
  changed_.notify_one();
}

void ItemChanger::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

/// What waits, up to a change of an id that another of them changes.
std::vector<ItemChange> ItemChanger::take() {
  std::vector<ItemChange> batch;
  std::set<std::string> ids;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
  while (!stopped_ && !queue_.empty() && batch.size() < kMostTogether) {
    const std::vector<NewItem>& items = queue_.front().items;
    const bool is_apart = std::none_of(
        items.begin(), items.end(),
        [&ids](const NewItem& item) { return ids.contains(item.id); });
    if (!is_apart) break;
    for (const NewItem& item : items) ids.insert(item.id);
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void ItemChanger::work() {
  while (true) {
    std::vector<ItemChange> batch = take();
    if (batch.empty()) break;
    commit(batch);
  }
  for (const ItemChange& change : queue_) {
    change.done({{}, 0, error_response(503, "the server stops", "try again")});
  }
}

void ItemChanger::commit(std::vector<ItemChange>& batch) {
  const std::string& path = served_.options().path;
  std::vector<ChangeOutcome> outcomes(batch.size());
  std::optional<HttpResponse> failure;
  std::optional<ChangePlan> plan;
  try {
    auto lock = lock_index(path, kPatienceSeconds);
    try {
      std::optional<StoredIndex> index =
          StoredIndex::open(path, /*memory_mb=*/0);
      served_.check_model(*index);
      plan.emplace(*index, served_.pictures(), batch);
      for (size_t i = 0; i < batch.size(); ++i) {
        outcomes[i] = plan->apply(batch[i], most_bytes_);
      }
      const auto write = [&] {
        plan->write(*index, path);
        index.reset();  // before another is opened
        lock.reset();
      };
      if (!plan->is_empty()) served_.change(write);
    } catch (const std::exception& error) {
      failure = failure_of(error);
    }
  } catch (const RunError&) {
    failure = busy_elsewhere();
  }
  int64_t added = 0;
  int64_t removed = 0;
  for (ChangeOutcome& outcome : outcomes) {
    if (failure) outcome = {{}, 0, failure};
    added += std::ssize(outcome.added);
    removed += outcome.removed;
  }
  if (added + removed > 0) {
    served_.count_changes(added, removed);
    plan->drop_old_pictures();
  }
  for (size_t i = 0; i < batch.size(); ++i) batch[i].done(outcomes[i]);
}

}  // namespace kith
