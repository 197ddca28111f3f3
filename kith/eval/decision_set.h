#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/decision.h"
#include "kith/eval/first_answers.h"
#include "kith/eval/group_draws.h"
#include "kith/eval/scored.h"
#include "kith/eval/verification.h"

namespace kith {

/// All that is measured of one set, whatever the threshold.
struct DecisionSet {
  ScoredSet set;  ///< Of the pairs.
  ClassGroups groups;
  PairCells pairs;
  std::vector<FirstAnswer> closed;  ///< Of the whole gallery.
  std::vector<FirstAnswer> open;    ///< Without the unknown classes.
  int64_t unknown_classes = 0;
};

/// Errors are those of decide().
DecisionSet measure_decisions(const Scored& scored,
                              const DecisionOptions& options);

/// The cell of the threshold that is wanted.
int64_t pick_cell(const DecisionSet& found, const ThresholdWish& wish);

}  // namespace kith
