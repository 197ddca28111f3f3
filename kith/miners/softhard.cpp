#include "kith/miners/softhard.h"

#include <limits>

#include <torch/torch.h>

#include "kith/miners/choose.h"
#include "kith/miners/distances.h"

namespace kith {

const char* const SofthardMiner::kSummary =
    "random ones of the hard positives and negatives (Roth et al., ICML "
    "2020)";

const PartFacts SofthardMiner::kFacts = {
    .formula =
        "p uniform over { p in P_a : D_ap > min over N_a of D_an }\n"
        "n uniform over { n in N_a : D_an < max over P_a of D_ap }\n"
        "each over P_a, or N_a, if that is empty",
    .source = "Roth et al., ICML 2020",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "miner_softhard"};

Tensor SofthardMiner::mine(const Tensor& embeddings, const Tensor& labels,
                           Rng& rng) const {
  const int64_t m = labels.size(0);
  const Tensor u = draw_uniform(rng, 4, m, embeddings.device());
  const ClassPlaces places(labels);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SplitPairs pairs =
      split_pairs(mining_distances(embeddings), labels, -kInfinity, kInfinity);
  const Tensor farthest = pairs.positive.amax(1, /*keepdim=*/true);
  const Tensor nearest = pairs.negative.amin(1, /*keepdim=*/true);
  const Choice positive = choose_uniform(pairs.positive > nearest, u[0]);
  pairs.positive.reset();  // memory
  const Choice negative = choose_uniform(pairs.negative < farthest, u[1]);
  return triplets(
      places.complete(),
      torch::where(positive.found, positive.position, places.positives(u[2])),
      torch::where(negative.found, negative.position, places.negatives(u[3])));
}

KITH_REGISTER(miner_registry(), "softhard", SofthardMiner);

}  // namespace kith
