#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

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

  /// Whether the network as it is should be evaluated, and was not yet.
  bool is_evaluation_due() const;

  /// Makes the folder of the run and writes its configuration and, if it goes
  /// on with changes, these and a checkpoint that has them.
  void begin();

  /// Continues from the last checkpoint; false if there is none. ConfigError
  /// if the run cannot go on with this configuration (see check_may_change),
  /// DataError if the checkpoint is damaged.
  bool resume(const ResumeOptions& options = {});

  /// Whether the run, as resumed, goes on with another value of a key.
  bool has_changed(const std::string& key) const;

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
  void resume_from(const std::string& path, const ResumeOptions& options);
  void accept(std::vector<RunChange> changes);

  BookParts parts_;
  RunFolder folder_;
  RunState state_;
  size_t known_changes_ = 0;  ///< Of those in the state, before this resume.
  std::optional<Journal> journal_;
};

}  // namespace kith
