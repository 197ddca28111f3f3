#pragma once

#include <cstdint>
#include <string>

#include "kith/core/progress.h"
#include "kith/data/data_set.h"

namespace kith {

/// Writes a data set whose paths are relative (a generated one) below a folder:
/// PNG files and the dataset.csv that names them. Returns the path of the list.
std::string write_data_set(const DataSet& data, const std::string& folder,
                           Progress& progress);

}  // namespace kith
