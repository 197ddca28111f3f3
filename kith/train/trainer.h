#pragma once

#include <memory>
#include <string>

#include "kith/core/progress.h"
#include "kith/data/augment.h"
#include "kith/data/data_set.h"
#include "kith/data/loader.h"
#include "kith/eval/embed.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/embedding_net.h"
#include "kith/samplers/sampler.h"
#include "kith/train/optimizer.h"
#include "kith/train/run_config.h"
#include "kith/train/run_log.h"
#include "kith/train/schedule.h"

namespace kith {

/// Trains a model as a configuration says and keeps the run's folder:
///
///     config.yaml   log.jsonl   metrics.json
///     checkpoints/last.safetensors   checkpoints/best.safetensors
///
/// A run that was killed at any moment and resumed ends with the same weights
/// and the same metrics.json as one that was not (bit for bit on the CPU with
/// the same number of threads).
class Trainer {
 public:
  /// `data` and `progress` must outlive the trainer. Touches no files.
  Trainer(const RunConfig& config, const DataSet& data, std::string folder,
          c10::Device device, Progress& progress);
  ~Trainer();

  /// Continues from the last checkpoint, if there is one. ConfigError if it
  /// was made with another configuration.
  void resume();

  /// Trains to the end and returns the last evaluation. Throws RunError on
  /// NaN.
  EvalResult run();

  EmbeddingNet& net() { return *net_; }
  int64_t steps_done() const;

  /// The evaluation split, embedded by the network as it is.
  EmbeddedSplit embed_now();

  /// Embeds and scores the evaluation split with the network as it is.
  EvalResult evaluate_now();

 private:
  struct State;  ///< How far the run is; what a checkpoint keeps of it.

  void train_epoch(RunLog& log);
  void step(Loader& loader, int64_t steps_in_epoch, RunLog& log);
  Tensor mine(const Tensor& embeddings, const Tensor& labels) const;
  void check_finite(const Batch& batch, const Tensor& embeddings,
                    const Tensor& loss, double grad_norm) const;
  EvalResult record_evaluation(RunLog& log);
  void save(const std::string& name, bool with_optimizer) const;
  void write_metrics() const;
  double synchronised_lap(class Timer& timer) const;

  RunConfig config_;
  const DataSet& data_;
  std::string folder_;
  c10::Device device_;
  Progress& progress_;

  std::unique_ptr<Sampler> sampler_;
  Augmentations augmentations_;
  std::unique_ptr<EmbeddingNet> net_;
  std::unique_ptr<Loss> loss_;
  std::unique_ptr<Miner> miner_;  ///< Null: the loss uses the whole batch.
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<State> state_;
};

}  // namespace kith
