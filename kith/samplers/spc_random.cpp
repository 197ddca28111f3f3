#include "kith/samplers/spc_random.h"

#include <algorithm>
#include <unordered_set>

#include "kith/core/draw.h"
#include "kith/core/error.h"

namespace kith {

const char* const SpcRandomSampler::kSummary =
    "random images, with at least one pair of a class (SPC-R)";

const PartFacts SpcRandomSampler::kFacts = {
    .formula =
        "batch = M-1 images, uniformly and without repeats,\n"
        "        and a class mate of a random one of them\n"
        "        (another image if all mates are in the batch; the last two\n"
        "        are two of a random class if no image has a mate)\n"
        "epoch = N/M batches, N training images, M batch",
    .source = "Roth et al., ICML 2020",
    .cost = "O(N) time and memory an epoch"};

void SpcRandomSamplerOptions::describe(OptionSet& set) {
  set.add("batch", batch, "Images per batch.").range(2);
}

SpcRandomSampler::SpcRandomSampler(const Options& options,
                                   const SamplerInput& input)
    : batch_(checked(options, "spc_random").batch),
      seed_(input.seed),
      batches_(count_full_batches(static_cast<int64_t>(input.indices.size()),
                                  options.batch, "spc_random")),
      indices_(input.indices),
      classes_(images_by_class(input.indices, input.labels)) {
  for (size_t c = 0; c < classes_.size(); ++c) {
    for (const int64_t image : classes_[c]) class_of_[image] = c;
    if (classes_[c].size() > 1) pairs_.push_back(c);
  }
  if (pairs_.empty()) {
    throw ConfigError(
        "sampler 'spc_random' needs a class with two images, and each "
        "training class has one; check the labels, or use 'sampler.name: "
        "uniform'");
  }
}

std::vector<std::vector<int64_t>> SpcRandomSampler::epoch(
    const EpochInput& input) const {
  Rng rng(seed_, Stream::kSampler, {input.epoch});
  std::vector<std::vector<int64_t>> plan;
  for (int64_t b = 0; b < batches_; ++b) plan.push_back(draw_batch(rng));
  return plan;
}

std::vector<int64_t> SpcRandomSampler::draw_batch(Rng& rng) const {
  // One more than needed: the last serves where no mate is left.
  std::vector<int64_t> batch;
  for (const int64_t row :
       draw_distinct(static_cast<int64_t>(indices_.size()), batch_, rng)) {
    batch.push_back(indices_[static_cast<size_t>(row)]);
  }
  std::unordered_set<int64_t> inside(batch.begin(), batch.end() - 1);
  bool has_pair = false;
  // The order of the batch is random: the first with a mate is a random one.
  for (size_t i = 0; i + 1 < batch.size(); ++i) {
    const std::vector<int64_t>& mates = classes_[class_of_.at(batch[i])];
    std::vector<int64_t> left;
    std::copy_if(mates.begin(), mates.end(), std::back_inserter(left),
                 [&](int64_t image) { return inside.count(image) == 0; });
    if (!left.empty()) {
      batch.back() = left[rng.below(left.size())];
      return batch;
    }
    has_pair |= mates.size() > 1;
  }
  if (!has_pair) end_with_pair(batch, rng);
  return batch;
}

void SpcRandomSampler::end_with_pair(std::vector<int64_t>& batch,
                                     Rng& rng) const {
  ClassDraw images(classes_);
  const size_t c = pairs_[rng.below(pairs_.size())];
  for (size_t i = batch.size() - 2; i < batch.size(); ++i) {
    batch[i] = images.draw(c, rng);
  }
}

KITH_REGISTER(sampler_registry(), "spc_random", SpcRandomSampler);

}  // namespace kith
