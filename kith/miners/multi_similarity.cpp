#include "kith/miners/multi_similarity.h"

#include <limits>

#include <torch/torch.h>

#include "kith/miners/distances.h"

namespace kith {

const char* const MultiSimilarityMiner::kSummary =
    "pairs that are hard beside the other sign (Wang et al., CVPR 2019)";

const PartFacts MultiSimilarityMiner::kFacts = {
    .formula =
        "(a, p) with s_ap - epsilon < max over N_a of s_an\n"
        "(a, n) with s_an + epsilon > min over P_a of s_ap",
    .source = "Wang et al., CVPR 2019; as in pytorch-metric-learning",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "miner_pml"};

void MultiSimilarityMinerOptions::describe(OptionSet& set) {
  set.add("epsilon", epsilon,
          "How much easier than the hardest of the other sign a pair may "
          "be.");
}

MultiSimilarityMiner::MultiSimilarityMiner(const Options& options)
    : options_(checked(options, "multi_similarity")) {}

Tensor MultiSimilarityMiner::mine(const Tensor& embeddings,
                                  const Tensor& labels, Rng& /*rng*/) const {
  // An anchor without one sign has an infinite bound, and so no pairs.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const SplitPairs pairs =
      split_pairs(mining_products(embeddings), labels, kInfinity, -kInfinity);
  const Tensor lowest = pairs.positive.amin(1, /*keepdim=*/true);
  const Tensor highest = pairs.negative.amax(1, /*keepdim=*/true);
  return (pairs.positive < highest + options_.epsilon)
      .logical_or_(pairs.negative > lowest - options_.epsilon)
      .nonzero();
}

KITH_REGISTER(miner_registry(), "multi_similarity", MultiSimilarityMiner);

}  // namespace kith
