#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kith/study/results.h"

namespace kith {

/// A metric of a combination.
struct StudyCell {
  Spread spread;
  /// Over the queries, where there is one run and it was evaluated so.
  std::optional<Interval> interval = {};
  std::optional<double> published;  ///< In percent, if it is a share.
  bool best = false;
};

struct StudyRow {
  Labels labels;
  int64_t runs = 0;              ///< That are finished.
  std::vector<StudyCell> cells;  ///< Of study.metrics.
};

/// A whole study's numbers, as tables in all formats and its page have them.
struct StudySummary {
  std::vector<StudyRow> rows;       ///< By combination.
  std::vector<bool> has_published;  ///< By metric.
  /// A sentence, if they are not of the last network on the test split.
  std::string what;
};

/// The best mean of a column is marked, by what its metric says is better, if
/// there are several rows, and enough runs of each for an interval: otherwise
/// another seed may change the order.
StudySummary summarise(const StudyResults& results);

}  // namespace kith
