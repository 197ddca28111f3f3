#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/serve/http.h"
#include "kith/serve/served_index.h"

namespace kith {

struct NewItem {
  std::string id;
  std::string label = {};
  std::string picture = {};  ///< The file as it came.
  Tensor vector = {};        ///< [dim]
};

/// What became of an item that was added.
struct AddedItem {
  int64_t position = 0;
  std::string id;
  std::string label;
  std::string path;
};

struct ChangeOutcome {
  std::vector<AddedItem> added = {};
  int64_t removed = 0;                     ///< Items, also those replaced.
  std::optional<HttpResponse> fault = {};  ///< Nothing was changed.
};

/// What a client wants of an index, all of it or nothing.
struct ItemChange {
  enum class Kind { kAdd, kPut, kRemove };

  Kind kind = Kind::kAdd;
  std::vector<NewItem> items;  ///< To be removed: with their id alone.
  /// Called on the changer's thread; throws nothing.
  std::function<void(const ChangeOutcome&)> done;
};

/// Changes an index on disk for clients, on a thread of its own. What comes
/// while a change is written is written together the next time. A change is
/// answered when it is on the disk, synced, and searched. `kith index` may
/// change the same index in between: both take its lock.
class ItemChanger {
 public:
  /// No more than `most_bytes` of pictures are kept.
  ItemChanger(ServedIndex& served, int64_t most_bytes);
  ~ItemChanger();
  ItemChanger(const ItemChanger&) = delete;
  ItemChanger& operator=(const ItemChanger&) = delete;

  /// BusyError if too many wait, or it has stopped.
  void push(ItemChange change);

  /// Ends what is being written; changes that wait are refused.
  void stop();

 private:
  void work();
  std::vector<ItemChange> take();
  void commit(std::vector<ItemChange>& batch);

  ServedIndex& served_;
  int64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ItemChange> queue_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace kith
