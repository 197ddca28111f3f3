#include "kith/samplers/uniform.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/core/rng.h"
#include "kith/samplers/classes.h"

namespace kith {

const char* const UniformSampler::kSummary =
    "all images in random order, M at a time (HIST)";

const PartFacts UniformSampler::kFacts = {
    .formula =
        "epoch = a permutation of the N training images, cut into\n"
        "        N/M batches of M; the rest of N mod M images is left\n"
        "        out or, with drop_last off, a last smaller batch",
    .source = "Lim et al., CVPR 2022",
    .cost = "O(N) time and memory an epoch"};

void UniformSamplerOptions::describe(OptionSet& set) {
  set.add("batch", batch, "Images per batch.").range(2);
  set.add("drop_last", drop_last,
          "Leave out the images that do not fill a batch.");
}

UniformSampler::UniformSampler(const Options& options,
                               const SamplerInput& input)
    : options_(checked(options, "uniform")),
      seed_(input.seed),
      indices_(input.indices) {
  if (options_.drop_last) {
    count_full_batches(static_cast<int64_t>(indices_.size()), options_.batch,
                       "uniform");
  } else if (indices_.empty()) {
    throw ConfigError("there are no training images to sample from");
  }
}

std::vector<std::vector<int64_t>> UniformSampler::epoch(
    const EpochInput& input) const {
  Rng rng(seed_, Stream::kSampler, {input.epoch});
  std::vector<int64_t> images = indices_;
  rng.shuffle(images);
  const auto size = static_cast<size_t>(options_.batch);
  if (options_.drop_last) images.resize(images.size() / size * size);
  std::vector<std::vector<int64_t>> plan;
  for (size_t first = 0; first < images.size(); first += size) {
    const size_t last = std::min(first + size, images.size());
    plan.emplace_back(images.begin() + static_cast<std::ptrdiff_t>(first),
                      images.begin() + static_cast<std::ptrdiff_t>(last));
  }
  return plan;
}

KITH_REGISTER(sampler_registry(), "uniform", UniformSampler);

}  // namespace kith
