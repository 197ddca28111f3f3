#include "kith/samplers/pool/match_sampler.h"
#include "kith/samplers/pool/scores.h"

namespace kith {
namespace {

struct DistanceMatchingOptions : MatchOptions {
  int64_t bins = 50;
  double weight = 75;

  void describe(OptionSet& set) {
    MatchOptions::describe(set);
    set.add("bins", bins, "Bins of the histograms of distances.").range(1);
    set.add("weight", weight, "Of the distance of the histograms.").range(0);
  }
};

/// Distance distribution matching (DDM): of random batches the one whose
/// distances are most like those of the pool it is drawn from. The score is in
/// scores.h (Roth et al., ICML 2020).
class DistanceMatchingSampler final : public MatchSampler {
 public:
  static constexpr const char* kSummary =
      "batches with the distances of a larger pool (DDM)";
  static constexpr PartFacts kFacts = {
      .formula =
          "pool  = P/m groups of m class mates, for each batch anew\n"
          "score = |mu - mu'| + |std - std'| + weight W1(h, h'), mean and\n"
          "        standard deviation by coordinate, W1 in units of distance\n"
          "        of the histograms h of distances, bins over the range of\n"
          "        the pool\n"
          "batch = of `candidates` batches of M/m random groups that of\n"
          "        least score\n"
          "epoch = N/M batches, N training images, M batch, m per_class",
      .source = "Roth et al., ICML 2020",
      .cost =
          "O(P^2 D + C M (M + D)) time a batch, C candidates; O(N D) "
          "memory for the embeddings and O(P^2) a core"};
  using Options = DistanceMatchingOptions;

  DistanceMatchingSampler(const Options& options, const SamplerInput& input)
      : MatchSampler(options, input),
        bins_(options.bins),
        weight_(options.weight) {}

 private:
  Tensor score(const Tensor& pool, const Tensor& batches) const override {
    return distance_scores(pool, batches, bins_, weight_);
  }

  int64_t bins_;
  double weight_;
};

}  // namespace

KITH_REGISTER(sampler_registry(), "distance_matching", DistanceMatchingSampler);

}  // namespace kith
