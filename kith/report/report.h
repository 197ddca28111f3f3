#pragma once

#include <string>
#include <vector>

#include "kith/report/insight.h"
#include "kith/report/run_record.h"

namespace kith {

struct Report {
  std::string title;
  std::string lead;  ///< A sentence below the title; may be empty.
  std::vector<RunRecord> runs;
  std::vector<RunInsight> insights;  ///< One per run.
  std::vector<ImageGroup> groups;    ///< Every run with insight is in one.
  bool other_networks = false;       ///< Insights are not of the last ones.
  /// What looks for near duplicates, where nothing did; may be empty.
  std::string duplicates_hint;
  std::string made_by;  ///< "kith 0.1 with kith report a b"
};

/// One self-contained page: nothing is loaded from elsewhere, its script and
/// style are inside, and without scripts everything but hovering is there.
///
/// For scripts and tests: a section has an id (results, curves, cost,
/// differences, examples, similarities, threshold, spectrum, ranks, classes,
/// confused, lookalikes, hubs, duplicates, corruptions, compressed,
/// activations, scatter, run); a chart is <figure class="chart"
/// data-chart="loss">, in which each series is <g class="series"
/// data-name="..." data-points="x,y,left,top ...">, values first, then the
/// place in the view box; what is under the pointer is told in the element with
/// id "tip".
std::string render_report(const Report& report);

}  // namespace kith
