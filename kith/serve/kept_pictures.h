#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  /// Whether a path is that of a kept one.
  bool is_kept(std::string_view path) const;

  struct File {
    std::string path;  ///< path_of()
    std::string_view bytes;
  };

  /// Writes files, synced to the disk. RunError; then some may be written.
  void keep(const std::vector<File>& files);

  /// Removes the file of an item if it is a kept one; others are the user's.
  void drop(std::string_view path);

  /// Counts the bytes of all files. Returns those that no item has: left by a
  /// process that was killed, or of items that `kith index` removed. They may
  /// be all there is of a picture, so they stay.
  std::vector<std::string> count(const StoredIndex& index);

  int64_t bytes() const { return bytes_; }  ///< Since count().

 private:
  void keep_one(const File& file);

  /// The file's name within the folder; nothing if it is not a kept one.
  std::optional<std::string_view> name_of(std::string_view path) const;

  std::string folder_;       ///< "/data/birds.faiss.pictures"
  std::string folder_name_;  ///< "birds.faiss.pictures"
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace kith
