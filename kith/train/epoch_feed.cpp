#include "kith/train/epoch_feed.h"

#include <algorithm>
#include <string>
#include <typeinfo>
#include <utility>

#include <c10/util/Type.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/train/epoch_use.h"

namespace kith {

Batch Epoch::next() {
  Step step = std::move(coming.front());
  coming.pop_front();
  Batch made;
  if (step.has_own) made = loader->next();
  made.indices = std::move(step.images);
  return made;
}

EpochFeed::EpochFeed(FeedParts parts, int64_t dim) : parts_(std::move(parts)) {
  if (parts_.sampler->wants_pool()) {
    pool_ = std::make_unique<TrainingPool>(parts_.split.images(), dim);
  }
}

Epoch EpochFeed::open(int64_t number, int64_t first, int64_t limit) {
  if (next_.loader) return std::move(next_);
  Epoch epoch;
  epoch.number = number;
  std::vector<std::vector<int64_t>> batches = plan(number, epoch);
  if (number == 0 && first == 0) {
    const std::string use = describe_use(
        epoch_use(batches, parts_.split.sampler_input(/*seed=*/0)));
    if (!use.empty()) log_info(use);
  }
  batches.erase(batches.begin(),
                batches.begin() + std::min(first, epoch.steps));
  if (limit > 0) {
    batches.resize(std::min(batches.size(), static_cast<size_t>(limit)));
  }
  load(batches, first, epoch);
  return epoch;
}

void EpochFeed::prepare_next(int64_t number, int64_t limit) {
  if (!pool_) next_ = open(number, 0, limit);
}

std::vector<std::vector<int64_t>> EpochFeed::plan(int64_t number,
                                                  Epoch& epoch) const {
  const Timer timer;
  std::vector<std::vector<int64_t>> batches = parts_.sampler->epoch(
      {number, pool_ ? pool_->planned_from() : EmbeddingPool()});
  epoch.sampler_seconds = timer.seconds();
  if (batches.empty()) {
    throw ConfigError(
        "the sampler cannot make a full batch from this data; "
        "use a smaller 'sampler.batch'");
  }
  check_plan(batches);
  epoch.steps = static_cast<int64_t>(batches.size());
  epoch.batch = static_cast<int64_t>(batches.front().size());
  return batches;
}

/// A sampler may be its user's own.
void EpochFeed::check_plan(
    const std::vector<std::vector<int64_t>>& batches) const {
  const auto fail = [&](const std::string& problem) {
    const Sampler& sampler = *parts_.sampler;
    const std::string name = sampler_registry().name_of(typeid(sampler));
    throw ConfigError(
        "the sampler " +
        (name.empty() ? c10::demangle(typeid(sampler).name()) : name) +
        problem);
  };
  const std::vector<int64_t>& images = parts_.split.images();
  for (const std::vector<int64_t>& batch : batches) {
    if (batch.empty()) fail(" made an empty batch");
    for (const int64_t image : batch) {
      if (std::binary_search(images.begin(), images.end(), image)) continue;
      fail(" chose image " + std::to_string(image) + ", which is none of the " +
           std::to_string(images.size()) +
           " training images: batches are made of SamplerInput::indices");
    }
  }
}

/// Begins to load this rank's pictures of the batches of `plan`, which are
/// those of the epoch from step `first` on. Pictures of one size are written to
/// their places as they come.
void EpochFeed::load(const std::vector<std::vector<int64_t>>& plan,
                     int64_t first, Epoch& epoch) const {
  /// Where a batch of the loader stands: its step, and in that its first place.
  struct Origin {
    int64_t step;
    int64_t begin;
  };
  std::vector<Origin> origins;
  std::vector<std::vector<int64_t>> own;
  for (const std::vector<int64_t>& batch : plan) {
    const BatchLanes lanes = parts_.cut.of(static_cast<int64_t>(batch.size()));
    const bool has_own = parts_.loads && lanes.begin() < lanes.end();
    if (has_own) {
      origins.push_back({first + epoch.remaining(), lanes.begin()});
      own.emplace_back(batch.begin() + lanes.begin(),
                       batch.begin() + lanes.end());
    }
    epoch.coming.push_back({batch, has_own});
  }
  const Loader::LoadFunction load =
      [this, number = epoch.number, origins = std::move(origins)](
          int64_t batch, int64_t position, int64_t index) {
        // By its place in the whole batch, whichever rank has it.
        const Origin& origin = origins[static_cast<size_t>(batch)];
        Rng rng(parts_.seed, Stream::kAugment,
                {number, origin.step, origin.begin + position});
        return prepare_image(*parts_.cache.load(index), parts_.input,
                             parts_.augmentations, rng);
      };
  if (!parts_.input.any_shape()) {
    epoch.loader =
        std::make_unique<Loader>(std::move(own), load, parts_.loader);
    return;
  }
  const auto load_one = [load](int64_t batch, int64_t position, int64_t index) {
    std::vector<Image> pictures;
    pictures.push_back(load(batch, position, index));
    return pictures;
  };
  epoch.loader =
      std::make_unique<Loader>(std::move(own), load_one, parts_.loader);
}

void EpochFeed::prepare_pool(const RunState& state,
                             const std::function<Tensor()>& embed_all) {
  if (!pool_ || state.step_in_epoch > 0) return;  // resumed within an epoch
  if (state.step == 0 || parts_.sampler->rebuilds_pool()) {
    pool_->fill(embed_all());
  }
  pool_->begin_epoch();
}

void EpochFeed::update_pool(const Batch& batch, const Tensor& embeddings) {
  if (pool_) pool_->update(batch.indices, embeddings);
}

NamedTensors EpochFeed::state() const {
  NamedTensors all;
  if (!pool_) return all;
  for (const auto& [name, tensor] : pool_->state()) {
    all.emplace_back("pool." + name, tensor);
  }
  return all;
}

}  // namespace kith
