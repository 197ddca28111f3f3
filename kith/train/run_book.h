#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kith/distributed/communicator.h"
#include "kith/models/embedding_net.h"
#include "kith/run/checkpoint.h"
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
  const NamedTensors* average;           ///< Of the network; null: none.
  Communicator& ranks;
};

/// Keeps the books of a run: how far it is, its journal, its checkpoints, its
/// evaluations and which of them is the best.
///
/// Of several ranks all know how far the run is, and the first alone reads and
/// writes its folder. Functions that say "all ranks" must be called by all.
class RunBook {
 public:
  RunBook(BookParts parts, std::string folder);

  RunState& state() { return state_; }
  const RunState& state() const { return state_; }

  /// The key that has ended the run: "train.patience", or where it is done
  /// "train.epochs" or what ends it earlier. Empty: it goes on.
  std::string ended_by() const;
  bool is_finished() const { return !ended_by().empty(); }

  /// "recall_any@1 has not been better than 61.20% (epoch 7) for 5 epochs
  /// (train.patience)", of a run that has ended so.
  std::string patience_text() const;

  /// Whether the network as it is should be evaluated, and was not yet.
  bool is_evaluation_due() const;

  /// Makes the folder of the run and writes its configuration and, if it goes
  /// on with changes, these and a checkpoint that has them.
  void begin();

  /// Continues from the last checkpoint; false if there is none, or none after
  /// a step and the configuration is another one. ConfigError
  /// if the run cannot go on with this configuration (see check_may_change),
  /// DataError if the checkpoint is damaged. All ranks.
  bool resume(const ResumeOptions& options = {});

  /// All ranks take the first one's weights, so that they begin with the same.
  void share_weights();

  /// All ranks take the first one's state: what has been found so far, and so
  /// what is to be done next. RunError if their weights differ, which never
  /// happens unless a machine computes something else than the others.
  void share_state();

  /// Whether the run, as resumed, goes on with another value of a key.
  bool has_changed(const std::string& key) const;

  /// Opens the journal; a run that is resumed goes on with it.
  void open_journal();

  void write(const StepRecord& record);

  /// Adds an evaluation to the history, and says in the log what it gave.
  void write(const Evaluation& evaluation);

  /// The evaluation that the history ends with: if it is the best so far, the
  /// weights are kept. Not those before training of a fold, or of a run whose
  /// epochs held-out classes chose.
  void keep_if_best(const EvalResult& result);

  /// Loads the weights of the best evaluation into the network; all ranks.
  /// Returns why not, if they cannot be read; empty: done.
  std::string load_best() const;

  /// Keeps the weights of an epoch that has just ended, if train.keep_every
  /// says so; unless `again`, only if they are not there yet.
  void keep_epoch(bool again = true) const;

  /// Whether the run is finished and its best network was not tested since.
  bool is_test_due() const;

  /// Adds the evaluation of the best network on the test split.
  void write_test(const Evaluation& evaluation);

  /// Says in the log what ended a run early, and whether training did not help.
  void tell_end() const;

  /// Writes the last checkpoint, from which the run can go on.
  void save_last() const;

  void write_metrics() const;

  /// RunError if weights have NaN or infinite values.
  void check_weights() const;

 private:
  /// What a checkpoint of weights has, or one that the run can go on from.
  CheckpointParts kept(bool whole) const;
  bool writes() const { return parts_.ranks.is_first(); }
  bool resume_here(const ResumeOptions& options);
  bool resume_from(const std::string& path, const ResumeOptions& options);
  void accept(std::vector<RunChange> changes);
  std::optional<BestPoint> best_epoch() const;
  /// Whether held-out classes chose how many epochs the run has.
  bool follows_a_choice() const;
  std::string chosen_on(const std::string& split) const;

  BookParts parts_;
  RunFolder folder_;
  RunState state_;
  size_t known_changes_ = 0;  ///< Of those in the state, before this resume.
  std::optional<Journal> journal_;
};

}  // namespace kith
