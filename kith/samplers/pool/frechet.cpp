#include "kith/samplers/pool/frechet.h"

#include "kith/samplers/pool/scores.h"

namespace kith {

const char* const FrechetSampler::kSummary =
    "batches with the mean and covariance of a larger pool (FRD)";

const PartFacts FrechetSampler::kFacts = {
    .formula =
        "pool  = P/m groups of m class mates, for each batch anew\n"
        "score = |mu - mu'|^2 + tr A + tr B - 2 tr (A^1/2 B A^1/2)^1/2,\n"
        "        covariances A of the pool and B of the batch, with 1e-8 I\n"
        "        added to both in the last term\n"
        "batch = of `candidates` batches of M/m random groups that of\n"
        "        least score\n"
        "epoch = N/M batches, N training images, M batch, m per_class",
    .source = "Roth et al., ICML 2020",
    .cost =
        "O(P D^2 + C D^2 (M + D)) time a batch, C candidates; O(N D) "
        "memory for the embeddings and O(C D^2) a core"};

FrechetSampler::FrechetSampler(const Options& options,
                               const SamplerInput& input)
    : MatchSampler(checked(options, "frechet"), input, "frechet") {}

Tensor FrechetSampler::score(const Tensor& pool, const Tensor& batches) const {
  return frechet_scores(pool, batches);
}

KITH_REGISTER(sampler_registry(), "frechet", FrechetSampler);

}  // namespace kith
