#include "kith/samplers/pool/pool_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/number_text.h"
#include "kith/core/side_by_side.h"

namespace kith {
namespace {

std::vector<int64_t> rows_up_to(size_t count) {
  std::vector<int64_t> rows(count);
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

/// Distances are compared, so squares must neither overflow nor vanish. All
/// zero is legal: then all images are alike.
void check_size(const Tensor& embeddings) {
  constexpr double kMost = 1e15;
  constexpr double kLeast = 1e-15;
  if (embeddings.numel() == 0) return;
  const auto largest = embeddings.abs().max().item<double>();  // or NaN
  if (largest == 0 || (largest >= kLeast && largest <= kMost)) return;
  if (!std::isfinite(largest)) {
    throw RunError(
        "the sampler's embeddings are not all finite; look at the loss of the "
        "last epoch, and use a smaller learning rate");
  }
  throw RunError("the sampler's embeddings are up to " +
                 format_number("%.3g", largest) +
                 ", and their distances cannot be compared; set "
                 "'model.head.l2' to true, or use a smaller learning rate");
}

/// The embeddings as [N, D], not copied.
Tensor view(const EmbeddingPool& pool, size_t images) {
  if (pool.values == nullptr || pool.dim < 1) {
    throw ConfigError(
        "this sampler chooses by embeddings: give epoch() a pool of them");
  }
  // from_blob takes a pointer to what may be written; nothing writes here.
  Tensor embeddings =
      torch::from_blob(const_cast<float*>(pool.values),  // NOLINT: see above
                       {static_cast<int64_t>(images), pool.dim}, torch::kFloat);
  check_size(embeddings);
  return embeddings;
}

}  // namespace

void PoolOptions::describe(OptionSet& set) {
  set.add("batch", batch, "Images per batch; a multiple of per_class.")
      .range(2);
  set.add("per_class", per_class, "Images of a class each time it is drawn.")
      .range(1);
  set.add("pool", pool,
          "Images that a batch is chosen from, drawn anew for each; at least "
          "batch, and at most all.")
      .range(2);
  set.add("rebuild", rebuild,
          "Compute all embeddings anew before each epoch, instead of keeping "
          "those that the batches gave.");
}

PoolSampler::PoolSampler(const PoolOptions& options, const SamplerInput& input,
                         const std::string& name)
    : options_(options),
      seed_(input.seed),
      batches_(count_full_batches(static_cast<int64_t>(input.indices.size()),
                                  options.batch, name)),
      indices_(input.indices),
      classes_(
          images_by_class(rows_up_to(input.indices.size()), input.labels)) {
  check_multiple(options_.batch, options_.per_class, name);
  if (options_.pool < options_.batch) {
    throw ConfigError("'" + name + ".pool' (" + std::to_string(options_.pool) +
                      ") must be at least '" + name + ".batch' (" +
                      std::to_string(options_.batch) + ")");
  }
  if (options_.pool > images()) {
    log_info("sampler.pool is " + std::to_string(options_.pool) +
             ", but there are only " + std::to_string(images()) +
             " training images: each pool has all of them");
  }
  options_.pool = std::min(options_.pool, images());
  options_.pool -= options_.pool % options_.per_class;
  note_repeats(classes_, options_.per_class);
}

std::vector<std::vector<int64_t>> PoolSampler::epoch(
    const EpochInput& input) const {
  const Tensor embeddings = view(input.pool, indices_.size());
  std::vector<std::vector<int64_t>> plan(static_cast<size_t>(batches_));
  run_side_by_side(batches_, [&](int64_t b) {
    Rng rng(seed_, Stream::kSampler, {input.epoch, b});
    std::vector<int64_t>& batch = plan[static_cast<size_t>(b)];
    for (const int64_t row : choose(embeddings, rng)) {
      batch.push_back(indices_[static_cast<size_t>(row)]);
    }
  });
  return plan;
}

}  // namespace kith
