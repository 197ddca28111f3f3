#include "kith/samplers/pool/distance_matching.h"

#include "kith/samplers/pool/scores.h"

namespace kith {

const char* const DistanceMatchingSampler::kSummary =
    "batches with the distances of a larger pool (DDM)";

const PartFacts DistanceMatchingSampler::kFacts = {
    .formula =
        "pool  = P/m groups of m class mates, for each batch anew\n"
        "score = |mu - mu'| + |std - std'| + weight W1(h, h'), mean and\n"
        "        standard deviation by coordinate, W1 in units of distance\n"
        "        of the histograms h of distances, bins over the range of\n"
        "        the pool\n"
        "batch = of `candidates` batches of M/m random groups that of\n"
        "        least score\n"
        "epoch = N/M batches, N training images, M batch, m per_class",
    .source = "Roth et al., ICML 2020",
    .cost =
        "O(P^2 D + C M (M + D)) time a batch, C candidates; O(N D) "
        "memory for the embeddings and O(P^2) a core"};

void DistanceMatchingSamplerOptions::describe(OptionSet& set) {
  match.describe(set);
  set.add("bins", bins, "Bins of the histograms of distances.").range(1);
  set.add("weight", weight, "Of the distance of the histograms.").range(0);
}

DistanceMatchingSampler::DistanceMatchingSampler(const Options& options,
                                                 const SamplerInput& input)
    : MatchSampler(checked(options, "distance_matching").match, input,
                   "distance_matching"),
      bins_(options.bins),
      weight_(options.weight) {}

Tensor DistanceMatchingSampler::score(const Tensor& pool,
                                      const Tensor& batches) const {
  return distance_scores(pool, batches, bins_, weight_);
}

KITH_REGISTER(sampler_registry(), "distance_matching", DistanceMatchingSampler);

}  // namespace kith
