#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/config.h"

namespace kith {

/// ConfigError with the file and line of a node of a study's configuration.
[[noreturn]] void fail_at(const ConfigNode& node, const std::string& message);

/// What a search may set a key to: some values, or numbers of a range.
struct SearchKey {
  std::string key;
  std::vector<ConfigNode> values;  ///< Empty: the range.
  double from = 0.0;
  double to = 0.0;
  bool log_scale = false;
};

/// The section `study.search`:
///
///     search:
///       method: random            # or grid: every combination of lists
///       trials: 20                # of a random search
///       seed: 0                   # of the draws and of the trials' training
///       metric: recall_any@1      # on held-out classes; default: eval.best
///       space:
///         optimizer.lr: {from: 1e-5, to: 1e-3, scale: log}
///         loss.t1: [0.5, 1, 2]
struct SearchSpace {
  bool grid = false;
  int64_t trials = 20;  ///< Of a grid, the number of combinations.
  int64_t seed = 0;
  std::string metric;  ///< Empty: eval.best.
  std::string metric_where;
  std::vector<SearchKey> keys;
  std::string where;  ///< In the study's file.
};

/// The value of each key in one trial.
using TrialValues = std::vector<std::pair<std::string, ConfigNode>>;

/// Reads the section. ConfigError with file and line.
SearchSpace read_search_space(const ConfigNode& section);

/// All trials, in order. Those of a random search depend on the seed and the
/// number of the trial only: more trials begin with the same ones.
std::vector<TrialValues> search_trials(const SearchSpace& space);

/// "optimizer.lr = 0.0002, loss.t1 = 1".
std::string describe_values(const TrialValues& values);

}  // namespace kith
