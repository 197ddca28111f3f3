#include "kith/miners/triplet_margin.h"

#include <algorithm>
#include <limits>

#include <torch/torch.h>

#include "kith/miners/distances.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

Tensor flat_places(const Tensor& pairs, int64_t columns) {
  return pairs.select(1, 0) * columns + pairs.select(1, 1);
}

/// Which gaps [P, M] are of the kind, bool.
Tensor of_kind(const Tensor& gap, const TripletMarginMinerOptions& options) {
  if (options.kind == "easy") return gap > options.margin;
  if (options.kind == "hard") return gap <= std::min(options.margin, 0.0);
  Tensor within = gap <= options.margin;
  if (options.kind == "semihard") within.logical_and_(gap > 0);
  return within;
}

}  // namespace

const char* const TripletMarginMiner::kSummary =
    "all triplets that violate, or keep, a margin (Schroff et al., CVPR "
    "2015)";

const PartFacts TripletMarginMiner::kFacts = {
    .formula =
        "all (a, p, n) with, for g = D_an - D_ap,\n"
        "all: g <= margin; hard: g <= margin and g <= 0;\n"
        "semihard: 0 < g <= margin; easy: g > margin",
    .source =
        "Schroff, Kalenichenko & Philbin, CVPR 2015; as in "
        "pytorch-metric-learning",
    .cost =
        "O(M^2 D + P M) time for P positive pairs, O(M^2 + T) memory "
        "for T triplets",
    .golden = "miner_pml"};

void TripletMarginMinerOptions::describe(OptionSet& set) {
  set.add("kind", kind,
          "Of D_an - D_ap: all: at most the margin; hard: at most 0; "
          "semihard: above 0, at most the margin; easy: above the margin.")
      .choices({"all", "hard", "semihard", "easy"});
  set.add("margin", margin, "How much farther a negative should be.");
}

TripletMarginMiner::TripletMarginMiner(Options options)
    : options_(checked(std::move(options), "triplet_margin")) {}

Tensor TripletMarginMiner::mine(const Tensor& embeddings, const Tensor& labels,
                                Rng& /*rng*/) const {
  const int64_t m = labels.size(0);
  const Tensor pairs = positive_mask(labels).nonzero();  // [P, 2]
  if (pairs.size(0) == 0) return no_tuples(embeddings);
  const Tensor distances = mining_distances(embeddings);
  // No comparison with NaN holds: others of the class are never chosen.
  const Tensor to_negatives = torch::where(
      same_class(labels), std::numeric_limits<double>::quiet_NaN(), distances);
  std::vector<Tensor> parts;
  // Half of M x M, or as many as cost nothing: each stretch waits for a GPU.
  constexpr int64_t kSmall = 1 << 19;
  const int64_t stretch = std::max(m / 2, kSmall / m);
  for (int64_t begin = 0; begin < pairs.size(0); begin += stretch) {
    const int64_t end = std::min(begin + stretch, pairs.size(0));
    const Tensor part = pairs.slice(0, begin, end);
    const Tensor to_positive =
        distances.flatten().index_select(0, flat_places(part, m));
    const Tensor gap = to_negatives.index_select(0, part.select(1, 0))
                           .sub_(to_positive.unsqueeze(1));
    const Tensor found = of_kind(gap, options_).nonzero();  // pair, negative
    parts.push_back(torch::cat(
        {part.index_select(0, found.select(1, 0)), found.slice(1, 1)}, 1));
  }
  return torch::cat(parts);
}

KITH_REGISTER(miner_registry(), "triplet_margin", TripletMarginMiner);

}  // namespace kith
