#include "kith/samplers/spc.h"

namespace kith {

const char* const SpcSampler::kSummary =
    "m images of each of M/m classes drawn with replacement (SPC-m)";

const PartFacts SpcSampler::kFacts = {
    .formula =
        "batch = M/m times: a class, uniformly and with replacement,\n"
        "        and m of its images that the batch has not yet\n"
        "        (they repeat where the class has no others)\n"
        "epoch = N/M batches, N training images, M batch, m per_class",
    .source = "Roth et al., ICML 2020",
    .cost = "O(N m) time and O(N) memory an epoch"};

void SpcSamplerOptions::describe(OptionSet& set) {
  set.add("batch", batch, "Images per batch; a multiple of per_class.")
      .range(2);
  set.add("per_class", per_class, "Images of a class each time it is drawn.")
      .range(1);
}

SpcSampler::SpcSampler(const Options& options, const SamplerInput& input)
    : options_(checked(options, "spc")),
      seed_(input.seed),
      batches_(count_full_batches(static_cast<int64_t>(input.indices.size()),
                                  options.batch, "spc")),
      classes_(images_by_class(input.indices, input.labels)) {
  check_multiple(options_.batch, options_.per_class, "spc");
  note_repeats(classes_, options_.per_class);
}

std::vector<std::vector<int64_t>> SpcSampler::epoch(
    const EpochInput& input) const {
  Rng rng(seed_, Stream::kSampler, {input.epoch});
  std::vector<std::vector<int64_t>> plan(static_cast<size_t>(batches_));
  for (std::vector<int64_t>& batch : plan) {
    ClassDraw images(classes_);
    for (int64_t g = 0; g < options_.batch / options_.per_class; ++g) {
      const auto c = static_cast<size_t>(rng.below(classes_.size()));
      for (int64_t i = 0; i < options_.per_class; ++i) {
        batch.push_back(images.draw(c, rng));
      }
    }
  }
  return plan;
}

KITH_REGISTER(sampler_registry(), "spc", SpcSampler);

}  // namespace kith
