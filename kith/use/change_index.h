#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/device.h"
#include "kith/core/progress.h"
#include "kith/index/index_info.h"
#include "kith/use/index_source.h"

namespace kith {

// What changes an index, or tells of it. One process at a time may change it:
// RunError if another does.

struct AddToIndexOptions {
  std::string index = {};
  IndexSourceOptions source = {};
  /// Put vectors whose names are there already in place of the old ones;
  /// without it they are refused.
  bool replace = false;
};

struct AddedToIndex {
  int64_t added = 0;
  int64_t replaced = 0;
  int64_t items = 0;  ///< In the index now.
};

/// ConfigError for names that are there already; DataError if the vectors are
/// not of the index's model.
AddedToIndex add_to_index(const AddToIndexOptions& options, c10::Device device,
                          Progress& progress = silent_progress());

struct RemoveFromIndexOptions {
  std::string index = {};
  /// Paths or names. An index keeps the absolute paths of files; others are
  /// meant from where the process is.
  std::vector<std::string> names = {};
  std::string list = "the list";  ///< How messages call the names.
};

struct RemovedFromIndex {
  int64_t removed = 0;
  int64_t not_there = 0;  ///< Names that are not in the index.
  int64_t items = 0;      ///< In the index now.
};

/// DataError if none of the names is there.
RemovedFromIndex remove_from_index(const RemoveFromIndexOptions& options);

struct IndexSummary {
  IndexInfo info;
  int64_t items = 0;
  int64_t removed = 0;  ///< Whose places are kept.
  int64_t classes = 0;
  int64_t dim = 0;
  int64_t bytes = 0;  ///< Of the vectors' file.
  /// If it was checked: whether there are checksums, with which all files
  /// agree.
  std::optional<bool> whole;
};

/// What an index is and holds. With `check` all of its files are read; a
/// damaged one is a DataError.
IndexSummary describe_index(const std::string& index, bool check = false);

}  // namespace kith
