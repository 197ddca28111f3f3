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
  /// Goes on after `last_step`, with evaluations up to the step `last_eval`;
  /// -1: from the beginning, with nothing kept. What a killed run wrote of
  /// later ones is removed.
  Journal(const std::string& folder, int64_t last_step, int64_t last_eval,
          const DataSet& data, const RunEventsOptions& options)
      : log_(RunFolder(folder).log(), last_step, last_eval),
        events_(folder, last_step + 1, data, options) {}

  void write(const StepRecord& record) {
    log_.write(record);
    events_.write(record);
  }

  void write(const Evaluation& evaluation) {
    log_.write(evaluation.point(), evaluation.seconds);
    events_.write(evaluation);
  }

 private:
  RunLog log_;
  RunEvents events_;
};

}  // namespace kith
