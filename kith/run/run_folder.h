#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/config.h"

namespace kith {

/// The folder of a run: where each of its files lies. What is in them is read
/// and written by the other headers of kith/run, and by nothing else.
///
///     config.yaml        the effective configuration
///     log.jsonl          steps and evaluations as they came (run_log.h)
///     metrics.json       all evaluations, once the run is finished
///                        (run_metrics.h)
///     events.out.tfevents.*            the log for TensorBoard (event_file.h)
///     checkpoints/last.safetensors     to go on from (checkpoint.h)
///     checkpoints/last.previous.safetensors    the one before it
///     checkpoints/best.safetensors     of the best evaluation
///     checkpoints/epoch-10.safetensors, ...    of epochs that are kept
///     changes.json       what it went on with another value of
///                        (run_changes.h)
///     left_out.csv       images that cannot be read and were left out
///     diverged.txt, bad_batch.txt      why it ended, and on which images
///     eval/best-epoch-7-test-standard/metrics.json, ...
///                        later evaluations (eval_metrics.h); an older kith
///                        wrote eval/metrics.json. With diagnostics.json,
///                        what went wrong in it (diagnostics_file.h), and
///                        threshold.json (threshold_file.h)
///     selection/         the run that chose the epoch on held-out classes
///     fold-1/, ...       the runs of a cross validation
///     study_config.yaml  what a study asked for
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  /// The folder of the run that a file or folder is of: "a/run" of
  /// "a/run/checkpoints/last.safetensors", of "a/run/config.yaml" and of
  /// "a/run".
  static RunFolder of(const std::string& place);
  /// The run that a file is a checkpoint of; none if it lies elsewhere.
  static std::optional<RunFolder> of_checkpoint(const std::string& file);

  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.yaml"; }
  std::string log() const { return path_ + "/log.jsonl"; }
  std::string metrics() const { return path_ + "/metrics.json"; }
  std::string checkpoints() const;
  /// `which`: "last", "best" or the number of an epoch.
  std::string checkpoint(const std::string& which = "last") const;
  std::string checkpoint(int64_t epoch) const;
  /// The epochs whose weights are kept under their own names, in order.
  std::vector<int64_t> kept_epochs() const;
  std::string changes() const { return path_ + "/changes.json"; }
  /// Images that cannot be read (kith/data/left_out.h); there if the run was
  /// asked to skip such.
  std::string left_out() const { return path_ + "/left_out.csv"; }
  std::string diverged() const { return path_ + "/diverged.txt"; }
  std::string bad_batch() const { return path_ + "/bad_batch.txt"; }
  std::string study_config() const { return path_ + "/study_config.yaml"; }
  std::string eval() const { return path_ + "/eval"; }
  /// The metrics.json, or another file, of all evaluations that were made of
  /// the run later, in the order of their names; one that an older kith left
  /// in eval/ first.
  std::vector<std::string> eval_files(
      const std::string& name = "metrics.json") const;
  RunFolder selection() const { return RunFolder(path_ + "/selection"); }
  /// `number` is from 1.
  RunFolder fold(int64_t number) const;

  /// A run was begun here, or its selection was.
  bool holds_run() const;
  /// It was trained to its end.
  bool is_finished() const;
  /// It ended with a NaN, which it would meet again.
  bool has_diverged() const;

  /// DataError, with the line, if it is no configuration or there is none.
  ConfigNode read_config() const;
  void write_config(const ConfigNode& config) const;

 private:
  std::string path_;
};

}  // namespace kith
