#include "kith/losses/triplet.h"

#include <torch/torch.h>

#include "kith/losses/reduction.h"
#include "kith/ops/tuples.h"

namespace kith {

const char* const Triplet::kSummary =
    "triplet (Schroff et al., CVPR 2015), given triplets";

const PartFacts Triplet::kFacts = {
    .formula =
        "l(a,p,n) = [D_ap - D_an + margin]+, D^2 for D with `squared`\n"
        "loss = mean over triplets",
    .source = "Schroff, Kalenichenko & Philbin, CVPR 2015",
    .cost = "O(T D) time and memory",
    .golden = "rev_triplet"};

void TripletOptions::describe(OptionSet& set) {
  set.add("margin", margin,
          "How much farther than the positive the negative should be.");
  set.add("squared", squared,
          "Squared distances, as in the published study's code.");
  describe_reduction(set, reduction, "triplets");
}

Triplet::Triplet(Options options)
    : options_(checked(std::move(options), "triplet")) {}

LossOutput Triplet::forward(const LossInput& input) const {
  const std::vector<Tensor> distance = tuple_distances(
      input.embeddings, input.tuples, {{0, 1}, {0, 2}}, options_.squared);
  const Tensor terms =
      (distance[0] - distance[1] + options_.margin).relu();  // [T]
  const Tensor mean = hinge_mean(terms, options_.reduction == "active");
  return {keep_bad_visible(mean, input.embeddings), {}};
}

KITH_REGISTER(loss_registry(), "triplet", Triplet);

}  // namespace kith
