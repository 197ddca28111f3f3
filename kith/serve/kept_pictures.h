#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kith/index/stored_index.h"

namespace kith {

/// Whether a client may call an item so: 1 to 100 letters, digits, '.', '_' and
/// '-', not '.' first.
bool is_item_id(std::string_view id);

/// The files of items that were added over HTTP: in the folder INDEX.pictures,
/// named by the item's id and the contents. Nothing of where they are comes
/// from a client.
class KeptPictures {
 public:
  explicit KeptPictures(const std::string& index);

  /// Where a picture with these contents is to be kept.
  std::string path_of(std::string_view id, std::string_view bytes) const;

  /// What clients call an item: the id it was added with, else its path.
  std::string_view id_of(std::string_view path) const;

  /// Where the file of an item is: kept ones beside the index, wherever that
  /// was when they were added.
  std::string file_of(std::string_view path) const;

  /// Writes a file, synced to the disk. RunError.
  void keep(const std::string& path, std::string_view bytes);

  /// Removes the file of an item if it is a kept one; others are the user's.
  void drop(std::string_view path);

  /// Removes files that no item has, of a process that was killed say, and
  /// counts the others. Returns how many were removed.
  int64_t sweep(const StoredIndex& index);

  int64_t bytes() const { return bytes_; }  ///< Since sweep().

 private:
  /// The file's name within the folder; nothing if it is not a kept one.
  std::optional<std::string_view> name_of(std::string_view path) const;

  std::string folder_;       ///< "/data/birds.faiss.pictures"
  std::string folder_name_;  ///< "birds.faiss.pictures"
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace kith
