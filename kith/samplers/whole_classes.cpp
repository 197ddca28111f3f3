#include "kith/samplers/whole_classes.h"

namespace kith {

const char* const WholeClassesSampler::kSummary =
    "random classes with all their images (FastAP, random)";

const PartFacts WholeClassesSampler::kFacts = {
    .formula =
        "row   = classes in random order, the images of each side by side\n"
        "epoch = the row cut into N/M batches of M: whole classes, but for\n"
        "        those at the cuts, which go on in the next batch",
    .source = "Cakir et al., CVPR 2019 (supplement)",
    .cost = "O(N) time and memory an epoch"};

void WholeClassesSamplerOptions::describe(OptionSet& set) {
  set.add("batch", batch, "Images per batch.").range(2);
}

WholeClassesSampler::WholeClassesSampler(const Options& options,
                                         const SamplerInput& input)
    : batch_(checked(options, "whole_classes").batch),
      seed_(input.seed),
      batches_(count_full_batches(static_cast<int64_t>(input.indices.size()),
                                  options.batch, "whole_classes")),
      classes_(images_by_class(input.indices, input.labels)) {}

std::vector<std::vector<int64_t>> WholeClassesSampler::epoch(
    const EpochInput& input) const {
  Rng rng(seed_, Stream::kSampler, {input.epoch});
  ImageRow row(classes_, rng);
  std::vector<std::vector<int64_t>> plan(static_cast<size_t>(batches_));
  for (std::vector<int64_t>& batch : plan) {
    row.take(static_cast<size_t>(batch_), batch);
  }
  return plan;
}

KITH_REGISTER(sampler_registry(), "whole_classes", WholeClassesSampler);

}  // namespace kith
