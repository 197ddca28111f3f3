#pragma once

#include <string>

namespace kith {

/// threshold.json: a threshold of similarity, and the embeddings that it was
/// picked for.
///
///     {"version": 1, "threshold": 0.5123, "wanted": "far=0.001",
///      "picked_on": "validation split", "model": "/home/you/run",
///      "model_hash": "5feceb66...", "checkpoint": "last checkpoint (epoch
///      15)", "descriptor": ""}
struct ThresholdFile {
  double threshold = 0;
  std::string wanted;
  std::string picked_on = {};   ///< Empty: it was given.
  std::string model = {};       ///< Empty: not known, as are those below.
  std::string model_hash = {};  ///< Of its weights.
  std::string checkpoint = {};
  std::string descriptor = {};  ///< Empty: the run's own, or not known.
};

void write_threshold_file(const std::string& path, const ThresholdFile& file);

/// DataError, which names the file, if it is not one.
ThresholdFile read_threshold_file(const std::string& path);

}  // namespace kith
