#pragma once

#include "kith/miners/miner.h"

namespace kith {

struct MultiSimilarityMinerOptions {
  double epsilon = 0.1;  ///< How much easier than the hardest others.

  void describe(OptionSet& set);
};

/// The pairs of the multi-similarity loss (Wang et al., CVPR 2019), for each
/// anchor a that has positives and negatives:
///
///     (a, p) with s_ap - epsilon < max_n s_an
///     (a, n) with s_an + epsilon > min_p s_ap
class MultiSimilarityMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = MultiSimilarityMinerOptions;

  explicit MultiSimilarityMiner(const Options& options = {});

  int64_t width() const override { return 2; }

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;

 private:
  Options options_;
};

}  // namespace kith
