#include "kith/miners/rho_distance.h"

#include <torch/torch.h>

namespace kith {

const char* const RhoDistanceMiner::kSummary =
    "distance_weighted, at times a positive as the negative (Roth et al., "
    "ICML 2020)";

const PartFacts RhoDistanceMiner::kFacts = {
    .formula =
        "(a, p, n) as distance_weighted; with probability p_switch\n"
        "(a, a, p) in its place, p uniform over P_a",
    .source = "Roth et al., ICML 2020",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "miner_distance_weighted"};

void RhoDistanceMinerOptions::describe(OptionSet& set) {
  set.add("p_switch", p_switch,
          "Probability of a switched triplet. Published: Cars 0.35, SOP "
          "0.15, CUB 0.4 (0.35 for margin with beta 1.2, 0.3 for snr).")
      .range(0, 1);
  weights.describe(set);
}

RhoDistanceMiner::RhoDistanceMiner(const Options& options)
    : options_(checked(options, "rho_distance")) {}

Tensor RhoDistanceMiner::mine(const Tensor& embeddings, const Tensor& labels,
                              Rng& rng) const {
  const int64_t m = labels.size(0);
  const Tensor u = draw_uniform(rng, 4, m, embeddings.device());
  const ClassPlaces places(labels);
  const Tensor switched = u[0] < options_.p_switch;
  const Tensor positives = places.positives(u[1]);
  const Tensor negatives = weighted_negatives(embeddings, labels, places,
                                              u.slice(0, 2), options_.weights);
  return triplets(
      places.complete(),
      torch::where(switched, torch::arange(m, labels.options()), positives),
      torch::where(switched, positives, negatives));
}

KITH_REGISTER(miner_registry(), "rho_distance", RhoDistanceMiner);

}  // namespace kith
