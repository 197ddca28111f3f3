#pragma once

#include <string>

#include "kith/run/run_log.h"

namespace kith {

/// What all steps since the start or a resume took together.
class StepTotals {
 public:
  void add(const StepRecord& record);

  int64_t steps() const { return steps_; }

  /// "560 steps in 27 s, 8170 images/s (...); memory 10.3 GB (...)"
  std::string summary() const;

 private:
  int64_t steps_ = 0;
  int64_t images_ = 0;
  double sampler_seconds_ = 0;
  Phases sum_;  ///< Seconds added up, the highest of the peaks.
};

}  // namespace kith
