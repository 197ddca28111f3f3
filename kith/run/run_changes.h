#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/config.h"

namespace kith {

/// A setting that a run went on with another value of.
struct RunChange {
  int64_t epoch = 0;   ///< Epochs that were complete then.
  int64_t step = 0;    ///< Steps that were done then.
  std::string key;     ///< "train.epochs", or "threads" of the process.
  std::string before;  ///< As YAML, on one line; empty: it was not there.
  std::string after;
};

/// What a run may go on with beside what never changes its meaning.
struct ResumeOptions {
  bool new_lr = false;  ///< Another learning rate, `optimizer.lr`.
};

/// Every key in which two configurations of a run differ, in the order of the
/// first; not where it was started and what was published.
std::vector<RunChange> config_changes(const ConfigNode& before,
                                      const ConfigNode& after);

/// Whether a change decides when training ends.
bool moves_the_end(const RunChange& change);

/// Whether a change leaves a run's numbers as they are.
bool keeps_the_numbers(const RunChange& change);

/// ConfigError, with the way out, if a run in `folder` cannot go on with a
/// change: how long it trains, when and how it is evaluated and what it logs
/// may change, what it learns and from what may not.
void check_may_change(const RunChange& change, const ResumeOptions& options,
                      const std::string& folder);

/// changes.json of a run: a list of {"epoch": 30, "step": 1200, "key":
/// "train.epochs", "old": "30", "new": "60"}. None if there is no such file;
/// DataError, which names it, if it is none of these.
std::vector<RunChange> read_run_changes(const std::string& path);

void write_run_changes(const std::string& path,
                       const std::vector<RunChange>& changes);

}  // namespace kith
