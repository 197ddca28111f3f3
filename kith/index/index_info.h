#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kith/index/position_set.h"
#include "kith/io/file_sums.h"

namespace kith {

/// The least similarity that is an answer.
struct IndexThreshold {
  double value = -1;
  std::string wanted = {};  ///< "far=0.001, picked on ..."; empty: not known.

  bool accepts(float similarity) const {
    return static_cast<double>(similarity) >= value;
  }
};

/// What INDEX.json beside an index file says of it.
struct IndexInfo {
  std::string kind;   ///< "exact", "int8", "ivf_pq", ...
  std::string model;  ///< The run, checkpoint or export the vectors are from.
  std::string model_hash;                ///< Of its weights; empty: not known.
  std::map<std::string, double> recall;  ///< Against exact: "1@1", "10@10".
  PositionSet removed;
  /// Which network of a run: "last", "best" or an epoch; empty: the last of a
  /// run, or the only one.
  std::string checkpoint = {};
  std::string checkpoint_text =
      {};  ///< "best checkpoint (epoch 7)"; may be empty.
  /// None: whatever is nearest is an answer.
  std::optional<IndexThreshold> threshold = {};
  /// The folder that all pictures are below: others are not shown. From the
  /// root of the file system; empty: pictures may be anywhere.
  std::string pictures_root = {};
};

/// What tells whether the other files of an index are those it was made with.
/// Empty where an older kith has made it.
struct IndexFiles {
  std::string generation;  ///< See index_files.h.
  FileSums vectors;
  FileSums items;
};

/// The file's contents: the information, and the size of the index it is of.
struct IndexRecord {
  IndexInfo info;
  int64_t count = 0;  ///< With removed items.
  int64_t dim = 0;
  IndexFiles files = {};
};

/// DataError names the file and the key if it is no such file or is damaged.
IndexRecord read_index_record(const std::string& path);

/// Writes it, atomically.
void write_index_record(const std::string& path, const IndexRecord& record);

}  // namespace kith
