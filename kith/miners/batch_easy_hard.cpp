#include "kith/miners/batch_easy_hard.h"

#include <limits>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/miners/distances.h"

namespace kith {
namespace {

/// The nearest or the farthest example of each row.
struct Extreme {
  Tensor value;     ///< [M]
  Tensor position;  ///< [M]
  Tensor found;     ///< [M] bool
};

Extreme extreme_of(const Tensor& distances, const Tensor& allowed,
                   bool nearest) {
  const double none = nearest ? std::numeric_limits<double>::infinity()
                              : -std::numeric_limits<double>::infinity();
  const Tensor values = torch::where(allowed, distances, none);
  const auto [value, position] = nearest ? values.min(1) : values.max(1);
  return {value, position, nearest ? value < none : value > none};
}

/// [T, 2]: the examples with `keep` [M] and what was found for them.
Tensor pairs_of(const Tensor& keep, const Tensor& position) {
  const Tensor anchors = keep.nonzero().flatten();
  return torch::stack({anchors, position.index_select(0, anchors)}, 1);
}

}  // namespace

const char* const BatchEasyHardMiner::kSummary =
    "an easy, semi-hard or hard pair of each sign (Xuan et al., WACV 2020)";

const PartFacts BatchEasyHardMiner::kFacts = {
    .formula =
        "(a, p): easy argmin D_ap, hard argmax D_ap,\n"
        "        semihard argmax { D_ap : D_ap < D_an }\n"
        "(a, n): easy argmax D_an, hard argmin D_an,\n"
        "        semihard argmin { D_an : D_an > D_ap }\n"
        "or all pairs of a sign",
    .source =
        "Xuan, Stylianou & Pless, WACV 2020; as in "
        "pytorch-metric-learning",
    .cost = "O(M^2 D) time, O(M^2) memory",
    .golden = "miner_pml"};

void BatchEasyHardMinerOptions::describe(OptionSet& set) {
  set.add("positive", positive,
          "easy: the nearest; hard: the farthest; semihard: the farthest "
          "that is nearer than the negative; all.")
      .choices({"easy", "semihard", "hard", "all"});
  set.add("negative", negative,
          "easy: the farthest; hard: the nearest; semihard: the nearest that "
          "is farther than the positive; all.")
      .choices({"easy", "semihard", "hard", "all"});
}

BatchEasyHardMiner::BatchEasyHardMiner(Options options)
    : options_(checked(std::move(options), "batch_easy_hard")) {
  const bool positive = options_.positive == "semihard";
  const bool negative = options_.negative == "semihard";
  if ((positive && negative) || (positive && options_.negative == "all") ||
      (negative && options_.positive == "all")) {
    throw ConfigError("'batch_easy_hard.positive' " + options_.positive +
                      " and 'batch_easy_hard.negative' " + options_.negative +
                      ": semihard is beside one pair of the other sign; set "
                      "that to easy or hard");
  }
}

Tensor BatchEasyHardMiner::mine(const Tensor& embeddings, const Tensor& labels,
                                Rng& /*rng*/) const {
  // Squares have the order of distances.
  const Tensor distances = mining_squares(embeddings);
  Tensor positive = same_class(labels);
  Tensor negative = positive.logical_not();
  positive.fill_diagonal_(false);
  const bool all_positive = options_.positive == "all";
  const bool all_negative = options_.negative == "all";
  if (!all_positive && !all_negative) {
    return one_of_each(distances, positive, negative);
  }
  const auto apart = [&](const Tensor& allowed, bool all, bool nearest) {
    if (all) return allowed.nonzero();
    const Extreme one = extreme_of(distances, allowed, nearest);
    return pairs_of(one.found, one.position);
  };
  return torch::cat({apart(positive, all_positive, nearest_positive()),
                     apart(negative, all_negative, nearest_negative())});
}

bool BatchEasyHardMiner::nearest_positive() const {
  return options_.positive == "easy";
}

bool BatchEasyHardMiner::nearest_negative() const {
  return options_.negative != "easy";
}

Tensor BatchEasyHardMiner::one_of_each(const Tensor& distances, Tensor positive,
                                       Tensor negative) const {
  Extreme p;
  Extreme n;
  if (options_.positive == "semihard") {
    n = extreme_of(distances, negative, nearest_negative());
    positive.logical_and_(distances < n.value.unsqueeze(1));
    p = extreme_of(distances, positive, nearest_positive());
  } else {
    p = extreme_of(distances, positive, nearest_positive());
    if (options_.negative == "semihard") {
      negative.logical_and_(distances > p.value.unsqueeze(1));
    }
    n = extreme_of(distances, negative, nearest_negative());
  }
  const Tensor keep = p.found.logical_and(n.found);
  return torch::cat({pairs_of(keep, p.position), pairs_of(keep, n.position)});
}

KITH_REGISTER(miner_registry(), "batch_easy_hard", BatchEasyHardMiner);

}  // namespace kith
