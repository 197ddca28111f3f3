#include "kith/train/measured_text.h"

#include <cmath>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/number_text.h"
#include "kith/core/path.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"

namespace kith {
namespace {

std::vector<MeasuredSplit> splits_of(const RunMetrics& metrics,
                                     const ChosenCheckpoint& checkpoint) {
  std::vector<MeasuredSplit> found;
  for (const RunPoint& point : metrics.history) {
    const bool is_same =
        point.epoch == checkpoint.epoch && point.step == checkpoint.step;
    if (is_same && found.empty())
      found.emplace_back(metrics.split, point.found);
  }
  const auto& test = metrics.test;
  if (test && test->epoch == checkpoint.epoch &&
      test->step == checkpoint.step) {
    found.emplace_back("test", test->found);
  }
  return found;
}

}  // namespace

std::vector<MeasuredSplit> measured_splits(const ChosenCheckpoint& checkpoint) {
  // From C++ a network may be of no file.
  if (checkpoint.file.empty() || checkpoint.epoch < 0) return {};
  const auto run = RunFolder::of_checkpoint(checkpoint.file);
  if (!run) return {};
  try {
    if (!path_exists(run->metrics())) return {};
    return splits_of(read_run_metrics(run->metrics()), checkpoint);
  } catch (const ReadError&) {
    throw;  // of a disk that fails: nothing is wrong with the file
  } catch (const DataError& error) {
    log_warning(std::string(error.what()) +
                ": README.md has no metrics of the network");
    return {};
  }
}

std::string measured_text(const std::vector<MeasuredSplit>& splits) {
  if (splits.empty()) return "";
  std::string head = "| metric |", rule = "|---|", rows;
  for (const auto& [split, found] : splits) {
    head += " " + split + " |";
    rule += "---|";
  }
  for (const StoredMetric& metric : splits.front().second.metrics) {
    if (metric.is_list() || std::isnan(metric.value)) continue;
    rows += "| " + metric.name + " |";
    for (const auto& [split, found] : splits) {
      const double value = found.at(metric.name);
      rows += " " + (std::isnan(value) ? "-" : format_general(value, 4)) + " |";
    }
    rows += "\n";
  }
  return rows.empty() ? "" : head + "\n" + rule + "\n" + rows;
}

}  // namespace kith
