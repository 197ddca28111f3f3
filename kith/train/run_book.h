#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kith/models/embedding_net.h"
#include "kith/run/journal.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_state.h"
#include "kith/train/optimizer.h"
#include "kith/train/run_config.h"
#include "kith/train/run_guard.h"

namespace kith {

/// Whose state a run keeps; all of it must outlive the run.
struct BookParts {
  const RunConfig& config;
  const DataSet& data;
  EmbeddingNet& net;
  const Optimizer& optimizer;
  const RunGuard& guard;
  /// What the loss, the memory and the sampler keep.
  std::function<NamedTensors()> others;
  std::function<NamedTensors()> learnt;  ///< By the loss.
};

/// Keeps the books of a run: how far it is, its journal, its checkpoints, its
/// evaluations and which of them is the best.
class RunBook {
 public:
  RunBook(BookParts parts, std::string folder);

  RunState& state() { return state_; }
  const RunState& state() const { return state_; }

  /// Whether all epochs, or all steps that are wanted, are done.
  bool is_finished() const;

  /// Makes the folder of the run and writes its configuration.
  void begin() const;

  /// Continues from the last checkpoint; false if there is none. ConfigError
  /// if it was made with another configuration, DataError if it is damaged.
  bool resume();

  /// Opens the journal; a run that is resumed goes on with it.
  void open_journal();

  void write(const StepRecord& record);

  /// Adds an evaluation to the history, and says in the log what it gave.
  void write(const Evaluation& evaluation);

  /// The evaluation that the history ends with: if it is the best so far, the
  /// weights are kept.
  void keep_if_best(const EvalResult& result);

  /// The epoch of the best evaluation so far; 0 if there was none.
  int64_t best_epoch() const;

  /// Writes the last checkpoint, from which the run can go on.
  void save_last() const;

  void write_metrics() const;

  /// RunError if weights have NaN or infinite values.
  void check_weights() const;

 private:
  void resume_from(const std::string& path);

  BookParts parts_;
  RunFolder folder_;
  RunState state_;
  std::optional<Journal> journal_;
};

}  // namespace kith
