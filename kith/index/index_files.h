#pragma once

#include <memory>
#include <string>

#include "kith/core/file_lock.h"
#include "kith/index/index_info.h"

namespace kith {

// An index is INDEX (the vectors), INDEX.items.csv and INDEX.json. It is
// replaced as a whole by one rename: the new data are first written beside the
// old ones, as .INDEX.<generation>.new and .INDEX.<generation>.new.items.csv,
// then an INDEX.json that names their generation takes the place of the old
// one, and then they take the names that users know. Where they are still
// waiting for that, because the process was killed, they are read where they
// are.

std::string items_path(const std::string& index);
std::string record_path(const std::string& index);

/// The two files that hold an index's data.
struct IndexData {
  std::string vectors;
  std::string items;
  bool operator==(const IndexData&) const = default;
};

/// New data on their way. The generation of those that have no checksums yet is
/// kUnfinished.
inline constexpr const char* kUnfinished = "part";
IndexData waiting_data(const std::string& index, const std::string& generation);

/// Where the data are that INDEX.json means.
IndexData current_data(const std::string& index, const IndexRecord& record);

/// Gives the new data that are at `unfinished` their generation, and makes
/// `record`, to which it is added with their checksums, that of the index.
void switch_index(const std::string& index, const IndexData& unfinished,
                  IndexRecord& record);

/// Puts in order what a process that was killed has left: data that wait get
/// their names, others are removed. One process at a time may change an index.
void settle_index(const std::string& index);

/// The right to change an index, which one process at a time has. RunError if
/// another has it and keeps it for `patience` seconds. What one that was killed
/// has left is put in order.
std::unique_ptr<FileLock> lock_index(const std::string& index,
                                     double patience = 2);

/// Compares all data with their checksums; DataError if they differ. False if
/// the index has none: an older kith has made it.
bool check_index(const std::string& index);

}  // namespace kith
