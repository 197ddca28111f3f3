#pragma once

#include <string>

#include "kith/run/run_events.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_log.h"

namespace kith {

/// What a run writes down as it goes: log.jsonl, and the same with pictures
/// for TensorBoard.
class Journal {
 public:
  /// Up to which steps it was written before; -1: nothing is kept. What a
  /// killed run wrote of later ones is removed.
  struct Last {
    int64_t step = -1;
    int64_t eval = -1;
    int64_t test = -1;
  };

  Journal(const std::string& folder, const Last& last, const DataSet& data,
          const RunEventsOptions& options)
      : log_(RunFolder(folder).log(), last.step, last.eval, last.test),
        events_(folder, last.step + 1, data, options) {}

  void write(const StepRecord& record) {
    log_.write(record);
    events_.write(record);
  }

  void write(const Evaluation& evaluation) {
    log_.write(evaluation.point(), evaluation.on, evaluation.seconds);
    events_.write(evaluation);
  }

  /// The evaluation of the best network on the test split, and after how many
  /// steps it was made.
  void write_test(const Evaluation& evaluation, const TestPoint& test) {
    log_.write(test, evaluation.seconds);
    events_.write(evaluation);
  }

 private:
  RunLog log_;
  RunEvents events_;
};

}  // namespace kith
