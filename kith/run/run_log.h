#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/growing_file.h"
#include "kith/run/run_metrics.h"

namespace kith {

/// What a phase of a step took.
struct Phase {
  double seconds = 0;
  /// The most memory in use during the phase: of tensors on a GPU; on the CPU
  /// of the process since its start.
  int64_t peak_bytes = 0;
};

/// The parts of a step, in order.
struct Phases {
  Phase data;
  Phase forward;
  Phase loss;
  Phase backward;
  Phase optimizer;

  /// Each with its name, in order.
  std::vector<std::pair<const char*, Phase>> all() const;
  double seconds() const;
  int64_t peak_bytes() const;
};

struct StepRecord {
  int64_t epoch = 0;
  int64_t step = 0;  ///< Over the whole run, from 1.
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  int64_t images = 0;
  double sampler_seconds = 0;  ///< To plan an epoch, in its first step.
  Phases phases;
  std::vector<std::pair<std::string, double>> stats;
};

/// log.jsonl of a run: one JSON object a line, with "kind" first.
class RunLog {
 public:
  /// Opens the file to append. Records of steps after `last_step`, which a
  /// killed run may have written beyond its last checkpoint, are removed, and
  /// so is a line that was cut off; evaluations after the step `last_eval` and
  /// tests after the step `last_test` go too. -1: nothing is kept.
  RunLog(const std::string& path, int64_t last_step,
         int64_t last_eval = std::numeric_limits<int64_t>::max(),
         int64_t last_test = std::numeric_limits<int64_t>::max());

  void write(const StepRecord& record);

  /// An evaluation of a split that took so long.
  void write(const RunPoint& point, const std::string& split, double seconds);

  /// {"kind": "test", "checkpoint": "best", "epoch": 1, "step": ...}; its
  /// "step" is that of the run, "of_step" that of the best checkpoint.
  void write(const TestPoint& test, double seconds);

 private:
  void write_line(const std::string& line);

  std::optional<GrowingFile> file_;
};

/// A step as log.jsonl has it. Numbers by phase are in the order of
/// RunLogFile::phases.
struct LoggedStep {
  int64_t epoch = 0;
  int64_t step = 0;
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  int64_t images = 0;
  std::vector<double> seconds;   ///< By phase.
  std::vector<int64_t> peak_mb;  ///< By phase.
};

/// An evaluation: of the untrained network at step and epoch 0.
struct LoggedEval {
  int64_t epoch = 0;
  int64_t step = 0;
  double seconds = 0;
  std::map<std::string, double> metrics;  ///< NaN: not defined. No lists.
};

LoggedEval logged(const RunPoint& point, double seconds = 0);

/// What log.jsonl says.
struct RunLogFile {
  std::vector<std::string> phases;  ///< "data", "forward", ...
  std::vector<LoggedStep> steps;
  std::vector<LoggedEval> evals;
  StoredEval last;    ///< Of the last of `evals`.
  std::string split;  ///< That it is of; empty: an earlier kith did not say.
  std::optional<TestPoint> test;  ///< The last one.
};

/// DataError, with the line, if the file is not a run's log. A last line that
/// was cut off is left out.
RunLogFile read_run_log(const std::string& path);

}  // namespace kith
