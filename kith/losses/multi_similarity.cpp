#include "kith/losses/multi_similarity.h"

#include "kith/losses/rows/multi_similarity.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const MultiSimilarity::kSummary =
    "multi-similarity (Wang et al., CVPR 2019)";

const PartFacts MultiSimilarity::kFacts = {
    .formula =
        "keep negatives with s_an > min_p s_ap - epsilon, and positives with "
        "s_ap < max_n s_an + epsilon\n"
        "l(a) = 1/alpha log(1 + sum_p e^{-alpha (s_ap - base)}) + 1/beta "
        "log(1 + sum_n e^{beta (s_an - base)})\n"
        "loss = mean over the batch of l(a)",
    .source = "Wang, Han, Huang, Dong & Scott, CVPR 2019",
    .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
    .golden = "pml_multisimilarity, rev_multisimilarity"};

void MultiSimilarityOptions::describe(OptionSet& set) {
  set.add("alpha", alpha, "Sharpness for positives.").positive();
  set.add("beta", beta, "Sharpness for negatives.").positive();
  set.add("base", base, "Similarity that divides near from far.");
  set.add("epsilon", epsilon, "Slack of the mining.").range(0);
  set.add("mining", mining,
          "Keep only informative pairs; false: all pairs, as "
          "pytorch-metric-learning does without a miner (with beta 50).");
  set.add("reduction", reduction,
          "Mean over the batch, or over anchors with a pair that is kept, as "
          "the published study does.")
      .choices({"batch", "anchors"});
  rows.describe(set);
}

MultiSimilarity::MultiSimilarity(const Options& options)
    : LossOnRows(checked(options, "multi_similarity").rows,
                 row_maker(MultiSimilarityParams{
                     options.alpha, options.beta, options.base, options.epsilon,
                     options.mining, options.reduction == "anchors"}),
                 "anchors") {}

KITH_REGISTER(loss_registry(), "multi_similarity", MultiSimilarity);

}  // namespace kith
