#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kith/core/device.h"
#include "kith/core/progress.h"
#include "kith/index/export_shards.h"
#include "kith/index/kinds.h"
#include "kith/use/index_source.h"

namespace kith {

struct MakeIndexOptions {
  IndexSourceOptions source = {};
  /// The index, a file of faiss; beside it OUT.items.csv and OUT.json. Empty:
  /// none is made.
  std::string out = {};
  IndexKind kind = index_kind<ExactIndex>();
  bool overwrite = false;  ///< Replace an index that is there.
  /// The least similarity that is an answer, or a threshold.json; empty: that
  /// of an index that is the source, or none.
  std::string threshold = {};
  /// The folder that all pictures must be below, so that no others are shown;
  /// empty: that of an index that is the source, or none.
  std::string pictures_root = {};
  std::string export_to = {};  ///< A new folder for shards; empty: none.
  int64_t shard_rows = ShardOptions().rows;
  bool half = true;   ///< Of shards: float16; else float32.
  uint64_t seed = 0;  ///< Of what is drawn for training and recall.
};

/// What was written.
struct MadeIndex {
  int64_t items = 0;
  int64_t left_out = 0;  ///< Images that cannot be read.
  int64_t dim = 0;
  std::string kind;
  std::string model;       ///< Of the vectors; empty: not known.
  std::string checkpoint;  ///< "best checkpoint (epoch 7)"; empty: of no run.
  std::optional<IndexThreshold> threshold = {};
  int64_t bytes = 0;  ///< Of all files of the index; 0: none was made.
  /// Against exact search, of a kind that is not exact: "1@1", "10@10".
  std::map<std::string, double> recall;
  int64_t recall_queries = 0;
  std::optional<ShardSummary> shards;
};

/// ConfigError if what would be written cannot be, or is there already.
void check_make_index(const MakeIndexOptions& options);

/// Makes an index, exports vectors, or both: the vectors are made once. Checks
/// first. One process at a time may write an index (RunError). Of several ranks
/// (IndexSourceOptions::ranks), which embed images together, the first writes;
/// what the others return says nothing of files.
MadeIndex make_index(const MakeIndexOptions& options, c10::Device device,
                     Progress& progress = silent_progress());

}  // namespace kith
