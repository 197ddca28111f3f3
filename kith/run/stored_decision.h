#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kith/eval/decision.h"

namespace kith {

/// A decision as metrics.json of an evaluation has it, under "threshold":
///
///     {"value": 0.51, "interval": [0.49, 0.53], "wanted": "far=0.001",
///      "meaning": "the least at which ...", "picked_on": "validation split",
///      "same_images": false,
///      "far": 0.0012, "tar": 0.71, "auroc": ..., "auprc": ...,
///      "precision": ..., "coverage": ..., "fpir": ..., "tpir": ...,
///      "intervals": {"far": [0.0009, 0.0015], ...},
///      "definitions": {"far": "share of ...", ...},
///      "classes": 98, "positive_pairs": ..., "negative_pairs": ...,
///      "queries": ..., "unknown_classes": 49, "mated": ..., "non_mated": ...,
///      "resamples": 1000, "resampled": "classes", "seed": 0, "notes": [...],
///      "curve": {"threshold": [...], "far": [...], "tar": [...], ...}}
///
/// What is not defined is null.
struct StoredDecision {
  double threshold = 0;
  std::optional<Interval> interval = {};
  std::string wanted = {};
  std::string meaning = {};
  std::map<std::string, double> rates = {};
  std::map<std::string, Interval> intervals = {};
  std::vector<std::string> notes = {};
  DecisionCurve curve = {};
};

}  // namespace kith
