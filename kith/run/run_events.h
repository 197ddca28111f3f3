#pragma once

#include <cstdint>
#include <string>

#include "kith/data/data_set.h"
#include "kith/eval/embedded_split.h"
#include "kith/run/event_file.h"
#include "kith/run/run_log.h"

namespace kith {

/// An evaluation of a run; of the network before training at epoch and step 0.
struct Evaluation {
  int64_t epoch = 0;
  int64_t step = 0;
  double seconds = 0;
  std::string on = {};  ///< The name of the split that was scored.
  EvalResult result;
  EmbeddedSplit split;  ///< What was scored.

  /// What the run's files keep of it.
  RunPoint point() const { return {epoch, step, stored(result)}; }
};

struct RunEventsOptions {
  int64_t examples = 8;  ///< Queries in the picture; 0: none.
  uint64_t seed = 0;     ///< They are drawn with it, the same each time.
};

/// What TensorBoard shows of a run:
///
///     train/...   loss, learning_rate, gradient_norm, figures of the loss
///     time/...    seconds of a step and of each phase; images_per_second;
///                 evaluation
///     memory/...  highest use in MB, of each phase and "peak" of all
///     eval/validation/..., eval/test/...
///                 of the split that was scored: each metric that is a number,
///                 as a share; "examples", a picture; "similarity/positive" and
///                 "similarity/negative", histograms of the first task's pairs
class RunEvents {
 public:
  /// A new event file in `folder`, of a run that begins with `first_step`; see
  /// EventFile. `data` must outlive it.
  RunEvents(const std::string& folder, int64_t first_step, const DataSet& data,
            const RunEventsOptions& options);

  void write(const StepRecord& record);
  void write(const Evaluation& evaluation);

 private:
  void add_examples(const Evaluation& evaluation, EventSummary& summary) const;
  void add_similarities(const Evaluation& evaluation,
                        EventSummary& summary) const;

  EventFile file_;
  const DataSet& data_;
  RunEventsOptions options_;
};

}  // namespace kith
