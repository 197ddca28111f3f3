#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kith/serve/file_mark.h"
#include "kith/serve/kept_pictures.h"
#include "kith/serve/search_service.h"

namespace kith {

/// An index as it was at a moment: whoever answers a request keeps the one that
/// it began with.
struct IndexSnapshot {
  explicit IndexSnapshot(StoredIndex opened);

  bool has_item(int64_t position) const {
    return position < index->count() && !index->is_removed(position);
  }

  SharedIndex index;
  std::map<std::string, int64_t> classes;  ///< Items by label.
};

struct ServedIndexOptions {
  std::string name;        ///< In addresses.
  std::string path;        ///< Empty: there are no files, and nothing changes.
  std::string model = {};  ///< As /api/info tells it.
  std::string model_hash = {};  ///< Empty: not known.
  int64_t memory_mb = 4096;
  c10::Device device = at::kCPU;
  /// The least similarity that is an answer; none: what each index says.
  std::optional<IndexThreshold> threshold = {};
  /// The folder that pictures must be below; empty: what each index says.
  std::string pictures_root = {};
};

/// An index on disk with what is searched of it, which follows when it changes.
/// All functions may be called from several threads.
class ServedIndex {
 public:
  using Snapshot = std::shared_ptr<const IndexSnapshot>;

  /// `first` was opened when the file INDEX.json was `mark`. ConfigError if it
  /// does not fit the service's model.
  ServedIndex(ServedIndexOptions options, StoredIndex first,
              const FileMark& mark, SearchService& service);

  const ServedIndexOptions& options() const { return options_; }
  SearchService& service() const { return service_; }
  Snapshot now() const;
  /// Of a search in an index; none: whatever is nearest is an answer.
  std::optional<IndexThreshold> threshold(const StoredIndex& index) const;

  /// What clients call an item, and the file of its picture.
  std::string_view id_of(const StoredIndex& index, int64_t position) const;
  ItemPlace place_of(const StoredIndex& index, int64_t position) const;

  /// The first item of this id; -1 if there is none.
  int64_t find(const StoredIndex& index, std::string_view id) const;

  enum class Look {
    kIfNew,   ///< Only if INDEX.json is another file than it was.
    kAnyway,  ///< Also if it is the same.
  };

  /// Opens what is on disk and takes it in the place of what was searched,
  /// which requests in work keep. What cannot be opened or is of another model
  /// is told once, in the log, and tried again later; what was there stays.
  void look(Look look);

  /// Calls `write`, which changes the index on disk, and opens that without a
  /// word, before anybody else looks. Whatever `write` throws goes on.
  void change(const std::function<void()>& write);

  /// ConfigError if an index is not of the model that is served.
  void check_model(const StoredIndex& index) const;

  KeptPictures& pictures() { return pictures_; }

  IndexStats stats() const;
  void count_changes(int64_t added, int64_t removed);

 private:
  using Clock = std::chrono::steady_clock;

  void open(const FileMark& mark, bool is_told, bool is_told_again);
  void wait_for_older() const;
  void refuse(const FileMark& mark, bool is_told_again, const std::string& why);

  ServedIndexOptions options_;
  SearchService& service_;
  KeptPictures pictures_;

  mutable std::mutex mutex_;  ///< Of what follows.
  Snapshot snapshot_;
  IndexStats stats_;

  std::mutex looking_;  ///< Of what follows; one opens at a time.
  FileMark loaded_;
  std::optional<FileMark> refused_;  ///< What could not be opened.
  int refusals_ = 0;
  Clock::time_point again_at_;
  std::weak_ptr<const IndexSnapshot> older_;  ///< What was there before.
};

using ServedIndexes = std::vector<std::unique_ptr<ServedIndex>>;

}  // namespace kith
