#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/data/augment.h"
#include "kith/data/data_set.h"
#include "kith/distributed/communicator.h"
#include "kith/eval/evaluator.h"
#include "kith/run/run_changes.h"
#include "kith/run/run_log.h"
#include "kith/train/run_stop.h"
#include "kith/train/trainer_parts.h"

namespace kith {

class BatchCut;
class EpochFeed;
class FeatureBank;
class GradientWatch;
class ImageCache;
class Objective;
class RunBook;
class RunGuard;
class StepTotals;
class TrainingSplit;
class TrainingStep;
class WeightAverage;
struct Epoch;

/// What a run will take, from a few steps that are thrown away.
struct DryRun {
  int64_t steps_an_epoch = 0;
  int64_t steps = 0;
  StepRecord step;  ///< A typical one.
  int64_t sub_batch = 0;
  int64_t chunks = 0;
  int64_t graphs_kept = 0;
  int64_t evaluations = 0;
  int64_t eval_images = 0;
  double eval_seconds = 0;  ///< Of one evaluation's embeddings.
  double seconds = 0;       ///< Of the run: steps and evaluations.
};

/// Trains a network and keeps the run's folder (see RunFolder). It joins what
/// does the work: EpochFeed loads batches, TrainingStep takes steps, RunGuard
/// stops a run that goes wrong, RunBook writes down what has been done.
///
/// Several ranks train one network together, each with a trainer of the same
/// configuration and data: the batches and, but for rounding, the numbers are
/// those of one rank (with `train.lanes` the bits are). All of them call the
/// same functions; the first alone reads and writes the folder.
///
/// A run that was killed at any moment and resumed ends with the same weights
/// and the same metrics.json as one that was not (bit for bit on the CPU with
/// the same number of threads).
class Trainer {
 public:
  /// As a complete configuration says. `data` and `progress` must outlive the
  /// trainer. Touches no files: weights to start from are read when they are
  /// first needed.
  Trainer(const RunConfig& config, const DataSet& data,
          const std::string& folder, c10::Device device, Progress& progress,
          Communicator& ranks = alone());

  /// Of parts that are composed in C++. Of registered parts, given by their
  /// options, the run's configuration says all, and whatever takes a run takes
  /// this one. A network, a data set or another part of the user's own it only
  /// names: then a trainer of the same parts resumes the run.
  Trainer(TrainerParts parts, const DataSet& data, const std::string& folder,
          c10::Device device, Progress& progress,
          Communicator& ranks = alone());

  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Continues from the last checkpoint, if there is one, for as many epochs as
  /// the configuration says now. What else may change check_may_change() says:
  /// ConfigError for the rest. DataError if the checkpoint is damaged; tells
  /// whether the one before it can be used.
  void resume(const ResumeOptions& options = {});

  /// Trains to the end and returns the last evaluation, which is empty if
  /// `eval.split` is none. If that is of the validation split and the data have
  /// a test split, the best network is evaluated on it once, at the end (see
  /// RunMetrics::test). Throws RunError on NaN, or if memory does not
  /// suffice, and RunStopped if a stop was asked for.
  EvalResult run(StopRequest stop = nullptr);

  /// Takes a few steps and keeps nothing of them. Writes no files. The trainer
  /// is of no use afterwards.
  DryRun dry_run();

  /// With the weights of the last step: those that are evaluated and kept with
  /// train.ema are their average.
  EmbeddingNet& net() { return *net_; }
  const RunConfig& config() const { return config_; }
  int64_t steps_done() const;

  /// What this trainer's steps have sent to other ranks.
  int64_t bytes_sent() const { return bytes_sent_; }

  /// The best of the evaluations after an epoch, with which the network before
  /// training is not compared.
  std::optional<BestPoint> best_trained() const;

  /// The evaluation split, embedded by the network as it is, with the average
  /// of its weights if there is one.
  EmbeddedSplit embed_now();

  /// Embeds and scores the evaluation split in the same way.
  EvalResult evaluate_now();

 private:
  Trainer(Training training, const DataSet& data, const std::string& folder,
          c10::Device device, Progress& progress, Communicator& ranks);
  void make_optimizer(const TrainerParts& parts);
  void start_weights();
  void whiten();
  void make_bank(const Augmentations& augmentations, uint64_t seed);
  void fill_bank(const std::vector<int64_t>& images);
  EvaluatorOptions evaluation_by(Communicator& ranks) const;
  void tell_ranks() const;
  void use_average();
  EmbedOptions embed_options();
  Tensor embed_images(const std::vector<int64_t>& images);
  void start_progress(const Epoch& epoch);
  void train_epoch();
  EvalResult train_to_end();
  void tell_schedule() const;
  bool is_stop_asked() const;
  StopRequest stop_while_embedding() const;
  [[noreturn]] void stop_here();
  EvalResult record_evaluation();
  void record_test();

  RunConfig config_;
  const DataSet& data_;
  std::unique_ptr<TrainingSplit> split_;
  c10::Device device_;
  Progress& progress_;
  Communicator& ranks_;

  std::unique_ptr<BatchCut> cut_;
  std::shared_ptr<EmbeddingNet> net_;
  std::unique_ptr<ImageCache> cache_;
  std::unique_ptr<RunGuard> guard_;
  std::shared_ptr<Schedule> schedule_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<Evaluator> tester_;  ///< Null: the test split is not for it.
  std::unique_ptr<EpochFeed> feed_;
  std::unique_ptr<FeatureBank> bank_;  ///< Null: the whole network trains.
  std::unique_ptr<Objective> objective_;
  std::shared_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  ///< Null: none is kept.
  std::unique_ptr<TrainingStep> step_;
  std::unique_ptr<RunBook> book_;
  std::unique_ptr<StepTotals> totals_;
  std::unique_ptr<GradientWatch> gradients_;
  StopRequest stop_ = nullptr;
  int64_t bytes_sent_ = 0;    ///< To other ranks, by steps.
  bool has_weights_ = false;  ///< Those to start from, or resumed ones.
};

}  // namespace kith
