#include "kith/miners/semihard.h"

#include <torch/torch.h>

#include "kith/miners/choose.h"
#include "kith/miners/distances.h"

namespace kith {
namespace {

/// [M, M] bool: the negatives beyond the positive, within the margin if there
/// is one.
Tensor semihard_negatives(const Tensor& distances, const Tensor& labels,
                          const Tensor& positives, double margin) {
  const Tensor to_positive = distances.gather(1, positives.unsqueeze(1));
  Tensor within = distances > to_positive;
  if (margin > 0) within.logical_and_(distances < to_positive + margin);
  return within.logical_and_(labels.unsqueeze(0) != labels.unsqueeze(1));
}

}  // namespace

const char* const SemihardMiner::kSummary =
    "random positives, negatives just beyond them (Schroff et al., CVPR "
    "2015)";

const PartFacts SemihardMiner::kFacts = {
    .formula =
        "p uniform over P_a\n"
        "n uniform over { n in N_a : D_ap < D_an < D_ap + margin }\n"
        "  (margin 0: D_ap < D_an), or over N_a if that is empty",
    .source =
        "Schroff, Kalenichenko & Philbin, CVPR 2015; code of Roth et "
        "al., ICML 2020",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "miner_semihard"};

void SemihardMinerOptions::describe(OptionSet& set) {
  set.add("margin", margin,
          "Negatives are at most this much farther than the positive; 0: "
          "any that is farther.")
      .range(0);
}

SemihardMiner::SemihardMiner(const Options& options)
    : options_(checked(options, "semihard")) {}

Tensor SemihardMiner::mine(const Tensor& embeddings, const Tensor& labels,
                           Rng& rng) const {
  const int64_t m = labels.size(0);
  const Tensor u = draw_uniform(rng, 3, m, embeddings.device());
  const ClassPlaces places(labels);
  const Tensor positives = places.positives(u[0]);
  const Choice choice =
      choose_uniform(semihard_negatives(mining_distances(embeddings), labels,
                                        positives, options_.margin),
                     u[1]);
  return triplets(
      places.complete(), positives,
      torch::where(choice.found, choice.position, places.negatives(u[2])));
}

KITH_REGISTER(miner_registry(), "semihard", SemihardMiner);

}  // namespace kith
