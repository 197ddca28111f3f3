#include <limits>

#include <torch/torch.h>

#include "kith/miners/choose.h"
#include "kith/miners/distances.h"
#include "kith/miners/miner.h"

namespace kith {
namespace {

struct MultiSimilarityMinerOptions {
  double epsilon = 0.1;

  void describe(OptionSet& set) {
    set.add("epsilon", epsilon,
            "How much easier than the hardest of the other sign a pair may "
            "be.");
  }
};

/// The pairs of the multi-similarity loss (Wang et al., CVPR 2019), for each
/// anchor a that has positives and negatives:
///
///     (a, p) with s_ap - epsilon < max_n s_an
///     (a, n) with s_an + epsilon > min_p s_ap
class MultiSimilarityMiner final : public Miner {
 public:
  static constexpr const char* kSummary =
      "pairs that are hard beside the other sign (Wang et al., CVPR 2019)";
  static constexpr PartFacts kFacts = {
      .formula =
          "(a, p) with s_ap - epsilon < max over N_a of s_an\n"
          "(a, n) with s_an + epsilon > min over P_a of s_ap",
      .source = "Wang et al., CVPR 2019; as in pytorch-metric-learning",
      .cost = "O(M^2 D) time, O(M^2) memory",
      .golden = "miner_pml"};
  using Options = MultiSimilarityMinerOptions;

  explicit MultiSimilarityMiner(const Options& options) : options_(options) {}

  int64_t width() const override { return 2; }

  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& /*rng*/) const override {
    if (labels.size(0) == 0) return no_tuples(embeddings, width());
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

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(miner_registry(), "multi_similarity", MultiSimilarityMiner);

}  // namespace kith
