#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kith/run/run_log.h"

namespace kith {

/// (step, loss) of all steps in a run's log.
inline std::vector<std::pair<int64_t, double>> loss_curve(
    const std::string& path) {
  std::vector<std::pair<int64_t, double>> curve;
  for (const LoggedStep& step : read_run_log(path).steps) {
    curve.emplace_back(step.step, step.loss);
  }
  return curve;
}

}  // namespace kith
