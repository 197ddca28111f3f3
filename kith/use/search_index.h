#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/device.h"
#include "kith/core/progress.h"
#include "kith/index/stored_index.h"

namespace kith {

/// What is searched for in an index: images, or vectors.
struct SearchIndexOptions {
  std::string index = {};
  /// Files, or folders: all images below them.
  std::vector<std::string> images = {};
  /// Of images: the model that made the index; empty: where the index says.
  std::string model = {};
  std::string checkpoint = {};  ///< Of a run; empty: what the index says.
  std::string embeddings = {};  ///< Float .npy [N, dim], instead of images.
  int64_t k = 10;               ///< How many to find for each.
  /// How what is found is ordered anew; see parse_rerank, search_reranked.
  std::vector<std::string> rerank = {};
  std::string label = {};  ///< Only items of this class, unless empty.
  /// The least similarity that is an answer, or a threshold.json; empty: the
  /// index's own, if it has one.
  std::string threshold = {};
  int64_t memory_mb = 4096;  ///< Larger files are read in blocks.
};

/// A query and what was found for it, nearest first.
struct IndexAnswer {
  std::string query;  ///< The image, or the number of the row.
  std::vector<SearchHit> hits;
};

/// The threshold of a search; none: whatever is nearest is an answer. Errors
/// are those of threshold_for().
std::optional<IndexThreshold> search_threshold(
    const SearchIndexOptions& options, const StoredIndex& index);

/// Unit vectors of what is searched for. DataError for a folder without images.
Rows search_rows(const SearchIndexOptions& options, const StoredIndex& index,
                 c10::Device device, Progress& progress = silent_progress());

/// Finds them. ConfigError for a class that the index does not have, DataError
/// for vectors that are not its model's.
std::vector<IndexAnswer> search_index(const SearchIndexOptions& options,
                                      const StoredIndex& index,
                                      const Rows& queries);

}  // namespace kith
