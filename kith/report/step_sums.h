#pragma once

#include <string>
#include <vector>

#include "kith/report/run_record.h"

namespace kith {

/// What the steps of a run took together. With `log.every` above one, a logged
/// step stands for those since the one before.
struct StepSums {
  double steps = 0;
  double images = 0;
  double seconds = 0;
  std::vector<double> phase_seconds;  ///< In the order of RunRecord::phases.
  std::vector<int64_t> peak_mb;       ///< The same: the highest of each.
  double step_seconds = 0;            ///< Median; NaN without steps.
  double images_per_second = 0;       ///< Median over steps; NaN without.
  double eval_seconds = 0;            ///< Of all evaluations.
};

StepSums sum_steps(const RunRecord& run);

/// Images seen up to each logged step, itself included.
std::vector<double> images_seen(const RunRecord& run);

}  // namespace kith
