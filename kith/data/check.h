#pragma once

#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/data/data_set.h"

namespace kith {

struct BrokenImage {
  std::string path;
  std::string problem;
};

/// In which counts a data set differs from its published ones, a sentence
/// each; nothing if it equals them or has none.
std::vector<std::string> published_differences(const DataSet& data);

/// Loads every image of a data set with some threads; what cannot be loaded,
/// in the order of the list.
std::vector<BrokenImage> find_broken_images(const DataSet& data,
                                            int64_t threads,
                                            Progress& progress);

}  // namespace kith
