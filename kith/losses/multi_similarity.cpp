#include "kith/losses/rows/multi_similarity.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct MultiSimilarityOptions : MixedRowOptions {
  double alpha = 2;
  double beta = 40;
  double base = 0.5;
  double epsilon = 0.1;
  bool mining = true;
  std::string reduction = "batch";

  void describe(OptionSet& set) {
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
    MixedRowOptions::describe(set);
  }
};

/// Multi-similarity loss (Wang, Han, Huang, Dong & Scott, CVPR 2019).
///
///     keep negatives with s > min_p s - epsilon,
///          positives with s < max_n s + epsilon
///     l(a) = 1/alpha log(1 + sum_p e^{-alpha (s_p - base)})
///          + 1/beta  log(1 + sum_n e^{beta (s_n - base)})
///
/// Mean over the batch; an anchor without pairs counts with zero.
class MultiSimilarityLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "multi-similarity (Wang et al., CVPR 2019)";
  static constexpr PartFacts kFacts = {
      .formula =
          "keep negatives with s_an > min_p s_ap - epsilon, and positives with "
          "s_ap < max_n s_an + epsilon\n"
          "l(a) = 1/alpha log(1 + sum_p e^{-alpha (s_ap - base)}) + 1/beta "
          "log(1 + sum_n e^{beta (s_an - base)})\n"
          "loss = mean over the batch of l(a)",
      .source = "Wang, Han, Huang, Dong & Scott, CVPR 2019",
      .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
      .golden = "pml_multisimilarity, rev_multisimilarity"};
  using Options = MultiSimilarityOptions;

  explicit MultiSimilarityLoss(Options options) : options_(std::move(options)) {
    params_ = {options_.alpha,  options_.beta,
               options_.base,   options_.epsilon,
               options_.mining, options_.reduction == "anchors"};
  }

  LossOutput forward(const LossInput& input) const override {
    const RowLoss loss = make_row_loss(params_);
    return compute_rows(loss, input, options_, "anchors");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 private:
  Options options_;
  MultiSimilarityParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "multi_similarity", MultiSimilarityLoss);

}  // namespace kith
