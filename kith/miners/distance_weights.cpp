#include "kith/miners/distance_weights.h"

#include <limits>

#include <torch/torch.h>

#include "kith/miners/choose.h"
#include "kith/miners/distances.h"

namespace kith {

void DistanceWeightOptions::describe(OptionSet& set) {
  set.add("cutoff", cutoff,
          "Distances below it count as this: limits the weight of the nearest "
          "negatives.")
      .range(0, 2);
  set.add("upper_cutoff", upper_cutoff,
          "Negatives farther than this are not drawn, if the anchor has "
          "nearer ones; 0: no limit. The paper's text says 1.4.")
      .range(0);
}

Tensor negative_log_weights(const Tensor& embeddings, const Tensor& labels,
                            const DistanceWeightOptions& options) {
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
                          const DistanceWeightOptions& options) {
  // Integers of up to 2^40: sums of 2^13 of them stay below 2^53.
  constexpr double kScale = 0x1.0p40;
  Tensor weights = negative_log_weights(embeddings, labels, options);
  // Finite, so that a row without weights has zeros and not NaN.
  const Tensor highest = weights.amax(1, /*keepdim=*/true).clamp_min_(-1e30);
  weights.sub_(highest).exp_().mul_(kScale).nan_to_num_(0);
  const Choice choice = choose_weighted(weights.to(torch::kLong), u[0]);
  return torch::where(choice.found, choice.position, places.negatives(u[1]));
}

}  // namespace kith
