#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kith/train/phase_meter.h"

namespace kith {

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

/// What all steps since the start or a resume took together.
class StepTotals {
 public:
  void add(const StepRecord& record);

  /// "560 steps in 27 s, 8170 images/s (...); memory 10.3 GB (...)"
  std::string summary() const;

 private:
  int64_t steps_ = 0;
  int64_t images_ = 0;
  double sampler_seconds_ = 0;
  Phases sum_;  ///< Seconds added up, the highest of the peaks.
};

/// log.jsonl of a run: one JSON object a line, with "kind" first.
class RunLog {
 public:
  /// Opens the file to append. Records of steps after `last_step`, which a
  /// killed run may have written beyond its last checkpoint, are removed, and
  /// so is a line that was cut off. -1: nothing is kept.
  RunLog(const std::string& path, int64_t last_step);

  void write(const StepRecord& record);

  /// An evaluation after so many epochs; `metrics_json` is a JSON object.
  void write_eval(int64_t epoch, int64_t step, const std::string& metrics_json,
                  double seconds);

 private:
  void write_line(const std::string& line);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// (step, loss) of all step records. DataError, with the line, if the file is
/// not such a log.
std::vector<std::pair<int64_t, double>> read_loss_curve(
    const std::string& path);

}  // namespace kith
