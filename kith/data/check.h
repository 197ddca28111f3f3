#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/data/data_set.h"

namespace kith {

/// In which counts a data set differs from its published ones, a sentence
/// each; nothing if it equals them or has none.
std::vector<std::string> published_differences(const DataSet& data);

/// Loads the images of a data set, or of one of its splits, with some threads;
/// what cannot be loaded, in the order of the list.
std::vector<BrokenImage> find_broken_images(const DataSet& data,
                                            int64_t threads, Progress& progress,
                                            std::optional<Split> split = {});

/// Does so if the data set skips broken images, and leaves these out: their
/// number and the first names are in the log. DataError if nothing of a split
/// would remain, which is no accident of a few files.
void leave_out_broken(DataSet& data, int64_t threads, Progress& progress,
                      std::optional<Split> split = {});

}  // namespace kith
