#include "kith/miners/distance_weighted.h"

#include <limits>

#include <torch/torch.h>

#include "kith/miners/distances.h"

namespace kith {

const char* const DistanceWeightedMiner::kSummary =
    "random positives, negatives of all distances alike (Wu et al., ICCV "
    "2017)";

const PartFacts DistanceWeightedMiner::kFacts = {
    .formula =
        "p uniform over P_a\n"
        "n from N_a with probability proportional to 1 / q(D), D = "
        "max(D_an, cutoff),\n"
        "log q(D) = (d - 2) log D + (d - 3) / 2 log(1 - D^2 / 4)",
    .source = "Wu, Manmatha, Smola & Krahenbuhl, ICCV 2017",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "miner_distance_weighted"};

void DistanceWeightedMinerOptions::describe(OptionSet& set) {
  set.add("cutoff", cutoff,
          "Distances below it count as this: limits the weight of the nearest "
          "negatives.")
      .range(0, 2);
  set.add("upper_cutoff", upper_cutoff,
          "Negatives farther than this are not drawn, if the anchor has "
          "nearer ones; 0: no limit. The paper's text says 1.4.")
      .range(0);
}

DistanceWeightedMiner::DistanceWeightedMiner(const Options& options)
    : options_(checked(options, "distance_weighted")) {}

Tensor DistanceWeightedMiner::mine(const Tensor& embeddings,
                                   const Tensor& labels, Rng& rng) const {
  const int64_t m = labels.size(0);
  const Tensor u = draw_uniform(rng, 3, m, embeddings.device());
  const ClassPlaces places(labels);
  return triplets(
      places.complete(), places.positives(u[0]),
      weighted_negatives(embeddings, labels, places, u.slice(0, 1), options_));
}

Tensor negative_log_weights(const Tensor& embeddings, const Tensor& labels,
                            const DistanceWeightedMinerOptions& options) {
  constexpr double kLeast = 1e-7;
  const auto d = static_cast<double>(embeddings.size(1));
  Tensor without = same_class(labels);
  Tensor squares = mining_squares(embeddings);
  if (options.upper_cutoff > 0) {
    without.logical_or_(squares > options.upper_cutoff * options.upper_cutoff);
  }
  squares.clamp_min_(std::max(options.cutoff * options.cutoff, kLeast));
  Tensor log_weights = squares.log().mul_(-(d - 2) / 2);
  squares.mul_(-0.25).add_(1).clamp_min_(kLeast).log_();
  log_weights.add_(squares, -(d - 3) / 2);
  return torch::where(without, -std::numeric_limits<double>::infinity(),
                      log_weights);
}

Tensor weighted_negatives(const Tensor& embeddings, const Tensor& labels,
                          const ClassPlaces& places, const Tensor& u,
                          const DistanceWeightedMinerOptions& options) {
  // Integers of up to 2^40: sums of 2^13 of them stay below 2^53.
  constexpr double kScale = 0x1.0p40;
  Tensor weights = negative_log_weights(embeddings, labels, options);
  // Finite, so that a row without weights has zeros and not NaN.
  const Tensor highest = weights.amax(1, /*keepdim=*/true).clamp_min_(-1e30);
  weights.sub_(highest).exp_().mul_(kScale).nan_to_num_(0);
  const Choice choice = choose_weighted(weights.to(torch::kLong), u[0]);
  return torch::where(choice.found, choice.position, places.negatives(u[1]));
}

KITH_REGISTER(miner_registry(), "distance_weighted", DistanceWeightedMiner);

}  // namespace kith
