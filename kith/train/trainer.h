#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kith/core/progress.h"
#include "kith/data/augment.h"
#include "kith/data/cache.h"
#include "kith/data/data_set.h"
#include "kith/data/loader.h"
#include "kith/eval/embedded_split.h"
#include "kith/models/embedding_net.h"
#include "kith/samplers/sampler.h"
#include "kith/train/gradient_watch.h"
#include "kith/train/journal.h"
#include "kith/train/multistage.h"
#include "kith/train/objective.h"
#include "kith/train/optimizer.h"
#include "kith/train/run_config.h"
#include "kith/train/schedule.h"
#include "kith/train/training_pool.h"
#include "kith/train/training_split.h"

namespace kith {

struct RunState;

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

/// Trains a model as a configuration says and keeps the run's folder:
///
///     config.yaml   log.jsonl   metrics.json   events.out.tfevents.*
///     checkpoints/last.safetensors   checkpoints/best.safetensors
///     checkpoints/last.previous.safetensors
///
/// A run that was killed at any moment and resumed ends with the same weights
/// and the same metrics.json as one that was not (bit for bit on the CPU with
/// the same number of threads).
class Trainer {
 public:
  /// `data` and `progress` must outlive the trainer. Touches no files: weights
  /// to start from are read when they are first needed.
  Trainer(const RunConfig& config, const DataSet& data, std::string folder,
          c10::Device device, Progress& progress);
  ~Trainer();

  /// Continues from the last checkpoint, if there is one. ConfigError if it
  /// was made with another configuration. DataError if it is damaged; tells
  /// whether the one before it can be used.
  void resume();

  /// Trains to the end and returns the last evaluation, which is empty if
  /// `eval.split` is none. Throws RunError on NaN, or if memory does not
  /// suffice.
  EvalResult run();

  /// Takes a few steps and keeps nothing of them. Writes no files. The trainer
  /// is of no use afterwards.
  DryRun dry_run();

  EmbeddingNet& net() { return *net_; }
  int64_t steps_done() const;

  /// The epoch of the best evaluation so far; 0 if there was none.
  int64_t best_epoch() const;

  /// The evaluation split, embedded by the network as it is.
  EmbeddedSplit embed_now();

  /// Embeds and scores the evaluation split with the network as it is.
  EvalResult evaluate_now();

 private:
  void resume_from(const std::string& path);
  void make_parts();
  void make_sampler();
  void make_optimizer();
  void start_weights();
  void load_start_weights();
  void warn_of_traps() const;
  EmbedOptions embed_options() const;

  /// The batches of an epoch, being loaded.
  struct Epoch {
    int64_t number = 0;
    int64_t steps = 0;  ///< In all, also those done before a resume.
    int64_t batch = 0;  ///< Images of its first step.
    double sampler_seconds = 0;
    std::unique_ptr<Loader> loader;
  };

  Journal open_journal() const;
  bool is_finished() const;
  void prepare_pool();
  Epoch open_epoch(int64_t number, int64_t first, int64_t limit = 0) const;
  std::unique_ptr<Loader> open_loader(std::vector<std::vector<int64_t>> plan,
                                      const Loader::LoadFunction& load) const;
  int64_t steps_left(int64_t before) const;
  void start_progress(const Epoch& epoch);
  void train_epoch(Journal& journal);
  StepRecord step(const Batch& batch, int64_t steps_in_epoch,
                  PhaseMeter& meter);
  double schedule_factor(int64_t steps_in_epoch) const;
  void compute_gradients(const Batch& batch, StepRecord& record,
                         PhaseMeter& meter);
  std::optional<Mixup> draw_mixup_of_step() const;
  void make_room(const Batch& batch);
  NamedTensors other_state() const;
  EvalResult record_evaluation(Journal& journal);
  void keep_if_best(const EvalResult& result);
  void check_weights() const;
  [[noreturn]] void stop_diverged(const std::string& why) const;
  void save(const std::string& name, bool with_optimizer) const;
  void write_metrics() const;
  void estimate_evaluations(DryRun& result);

  RunConfig config_;
  const DataSet& data_;
  TrainingSplit split_;
  std::string folder_;
  c10::Device device_;
  Progress& progress_;

  std::unique_ptr<ImageCache> cache_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<TrainingPool> pool_;  ///< Null: the sampler wants none.
  Augmentations augmentations_;
  std::unique_ptr<EmbeddingNet> net_;
  std::unique_ptr<Multistage> multistage_;
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<RunState> state_;
  StepTotals totals_;
  bool has_weights_ = false;  ///< Those to start from, or resumed ones.
  bool halved_ = false;       ///< Memory ran out once.
  GradientWatch gradients_;
  Epoch next_epoch_;  ///< Without loader: not begun.
};

}  // namespace kith
