#pragma once

#include <map>
#include <string>
#include <vector>

#include "kith/eval/diagnostics.h"

namespace kith {

/// Names to put beside positions and labels; each may be empty, and the JSON
/// then has numbers alone.
struct DiagnosticNames {
  std::vector<std::string> query_paths;    ///< [Q]
  std::vector<std::string> gallery_paths;  ///< [N]
  std::map<int64_t, std::string> class_names;
};

/// One object, on one line: counts, "hardest_queries", "confused_pairs",
/// "hubness", "by_query" with an array for each column, and "definitions" of
/// them all. What is not defined is null; the same diagnostics give the same
/// bytes. Numbers have up to 9 significant digits, which is all of a float32.
std::string diagnostics_json(const Diagnostics& diagnostics,
                             const DiagnosticNames& names = {});

}  // namespace kith
