#include "kith/miners/batch_hard.h"

#include <limits>

#include <torch/torch.h>

#include "kith/miners/choose.h"
#include "kith/miners/distances.h"

namespace kith {

const char* const BatchHardMiner::kSummary =
    "the farthest positive and the nearest negative (Hermans et al., 2017)";

const PartFacts BatchHardMiner::kFacts = {
    .formula =
        "p = argmax over P_a of D_ap, n = argmin over N_a of D_an,\n"
        "for each anchor a that has both",
    .source = "Hermans, Beyer & Leibe, arXiv 2017",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "miner_pml"};

Tensor BatchHardMiner::mine(const Tensor& embeddings, const Tensor& labels,
                            Rng& /*rng*/) const {
  // Squares have the order of distances.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const SplitPairs pairs =
      split_pairs(mining_squares(embeddings), labels, -kInfinity, kInfinity);
  const auto [farthest, positives] = pairs.positive.max(1);
  const auto [nearest, negatives] = pairs.negative.min(1);
  return triplets((farthest > -kInfinity).logical_and_(nearest < kInfinity),
                  positives, negatives);
}

KITH_REGISTER(miner_registry(), "batch_hard", BatchHardMiner);

}  // namespace kith
