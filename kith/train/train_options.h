#pragma once

#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/data/image_list.h"
#include "kith/eval/descriptor.h"
#include "kith/eval/evaluator.h"

namespace kith {

struct TrainOptions {
  int64_t epochs = 10;
  int64_t seed = 0;
  double clip_norm = 0.0;
  int64_t workers = 0;
  int64_t prefetch = 2;
  int64_t checkpoint_steps = 0;
  int64_t keep_every = 0;
  int64_t sub_batch = 0;
  std::string keep_graphs = "auto";
  std::string replay = "auto";
  int64_t lanes = 0;
  int64_t head_epochs = 0;
  int64_t stop_epoch = 0;
  int64_t steps = 0;
  int64_t patience = 0;
  double validation = 0.0;
  bool final = true;
  int64_t folds = 0;
  int64_t fold = 1;
  std::string init_from = {};
  std::vector<std::string> freeze = {};
  double ema = 0.0;
  bool ema_warmup = true;
  int64_t cache_mb = 0;
  int64_t cached_features = 0;
  int64_t tune = 0;
  int64_t memory = 0;
  int64_t memory_after = 0;
  double mixup = 0.0;

  /// Whether part of the training classes is held out.
  bool holds_out() const { return validation > 0 || folds > 0; }

  /// ConfigError if this many ranks do not divide the lanes.
  void check_ranks(int64_t ranks) const;

  /// Epochs that are trained, those of the head alone among them: up to
  /// stop_epoch if it is set.
  int64_t last_epoch() const;

  /// The key that says when training ends at the latest: "train.epochs", or one
  /// that ends it earlier.
  const char* end_key() const;

  void describe(OptionSet& set);
};

struct EvalOptions {
  std::string protocol = "standard";
  std::string split = "auto";
  std::vector<std::string> metrics = {};
  std::string best = "recall_any@1";
  int64_t every = 0;
  bool before = true;  ///< Not where nothing is evaluated.
  int64_t batch = 256;
  std::vector<std::string> rerank = {};
  DescriptorOptions descriptor = {};

  /// Whether a run is evaluated at all: `split` is not "none".
  bool evaluates() const { return split != "none"; }

  void describe(OptionSet& set);
};

struct LogOptions {
  int64_t every = 1;
  int64_t examples = 8;  ///< Key `gallery`.

  void describe(OptionSet& set);
};

/// The split that is evaluated: `eval.split`, where "auto" means validation if
/// the data has one and test otherwise, and "none" the same once somebody does
/// evaluate.
Split eval_split(const EvalOptions& options, const ImageList& list);

/// How an Evaluator does what the section `eval` says; `workers` threads load
/// images, 0: one per core.
EvaluatorOptions evaluator_options(const EvalOptions& options, int64_t workers);

/// `workers` as given, or one per core if it is 0.
int64_t worker_count(int64_t workers);

}  // namespace kith
