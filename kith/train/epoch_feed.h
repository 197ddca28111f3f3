#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "kith/data/augment.h"
#include "kith/data/cache.h"
#include "kith/data/input.h"
#include "kith/data/loader.h"
#include "kith/run/run_state.h"
#include "kith/samplers/sampler.h"
#include "kith/train/batch_cut.h"
#include "kith/train/training_pool.h"
#include "kith/train/training_split.h"

namespace kith {

/// The batches of an epoch, being loaded.
struct Epoch {
  int64_t number = 0;
  int64_t steps = 0;  ///< In all, also those done before a resume.
  int64_t batch = 0;  ///< Images of its first step.
  double sampler_seconds = 0;
  /// A batch to come: its images, and whether some are this rank's.
  struct Step {
    std::vector<int64_t> images;
    bool has_own = true;
  };
  std::deque<Step> coming;
  std::unique_ptr<Loader> loader;  ///< Of this rank's pictures.

  int64_t remaining() const { return static_cast<int64_t>(coming.size()); }

  /// The next batch: all of its images, and the pictures of those that are this
  /// rank's, whose positions count from the first of them.
  Batch next();
};

/// Where the pictures of a feed come from and what is done to them.
struct FeedParts {
  const TrainingSplit& split;
  ImageCache& cache;
  std::shared_ptr<Sampler> sampler;
  const BatchCut& cut;  ///< Which pictures of a batch are this rank's.
  Augmentations augmentations = {};
  InputOptions input = {};
  LoaderOptions loader = {};
  uint64_t seed = 0;
  bool loads = true;  ///< False: batches have no pictures.
};

/// What a training is fed with: the sampler's batches, epoch by epoch, made by
/// threads that work ahead.
class EpochFeed {
 public:
  /// `dim` is that of the embeddings, which some samplers choose by.
  EpochFeed(FeedParts parts, int64_t dim);
  EpochFeed(const EpochFeed&) = delete;
  EpochFeed& operator=(const EpochFeed&) = delete;

  /// The batches of an epoch from step `first` on, or its first `limit` ones
  /// (0: all): those of prepare_next(), or else its threads begin to load now.
  Epoch open(int64_t number, int64_t first, int64_t limit);

  /// Begins to load an epoch before it is opened, unless it is planned by
  /// embeddings that are not there yet.
  void prepare_next(int64_t number, int64_t limit);

  /// Before an epoch, for a sampler that chooses by embeddings: `embed_all`
  /// gives those of all training images, if it wants new ones.
  void prepare_pool(const RunState& state,
                    const std::function<Tensor()>& embed_all);

  /// The embeddings that a batch gave.
  void update_pool(const Batch& batch, const Tensor& embeddings);

  /// What a checkpoint keeps: "pool.<name>", if there is one.
  NamedTensors state() const;

 private:
  std::vector<std::vector<int64_t>> plan(int64_t number, Epoch& epoch) const;
  void check_plan(const std::vector<std::vector<int64_t>>& batches) const;
  void load(const std::vector<std::vector<int64_t>>& plan, int64_t first,
            Epoch& epoch) const;

  FeedParts parts_;
  std::unique_ptr<TrainingPool> pool_;  ///< Null: the sampler wants none.
  Epoch next_;                          ///< Without loader: not begun.
};

}  // namespace kith
