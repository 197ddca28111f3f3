#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kith {

/// Seconds a step spent in each phase.
struct PhaseTimes {
  double data = 0;
  double forward = 0;
  double loss = 0;
  double backward = 0;
  double optimizer = 0;
};

struct StepRecord {
  int64_t epoch = 0;
  int64_t step = 0;  ///< Over the whole run, from 1.
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  int64_t images = 0;
  PhaseTimes times;
  std::vector<std::pair<std::string, double>> stats;
};

/// log.jsonl of a run: one JSON object a line, with "kind" first.
class RunLog {
 public:
  /// Opens the file to append. Records of steps after `last_step`, which a
  /// killed run may have written beyond its last checkpoint, are removed, and
  /// so is a line that was cut off.
  RunLog(const std::string& path, int64_t last_step);

  void write(const StepRecord& record);

  /// An evaluation; `metrics_json` is a JSON object.
  void write_eval(int64_t step, const std::string& metrics_json);

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
