#include <torch/torch.h>

#include "kith/losses/row_loss.h"
#include "kith/losses/rows/contrastive_all.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

struct ContrastiveOptions {
  double pos_margin = 0.0;
  double neg_margin = 1.0;
  std::string reduction = "auto";

  void describe(OptionSet& set) {
    set.add("pos_margin", pos_margin,
            "Positive pairs closer than this cost nothing.")
        .range(0);
    set.add("neg_margin", neg_margin,
            "Negative pairs farther apart than this cost nothing.")
        .range(0);
    set.add("reduction", reduction,
            "Mean over all pairs of a sign, or over the active ones (with a "
            "positive term). auto: all for mined tuples, active for all pairs "
            "of the batch, as the two published codes do.")
        .choices({"auto", "all", "active"});
  }
};

/// Contrastive loss (Hadsell, Chopra & LeCun, CVPR 2006).
///
///     l(i,j) = [D_ij - pos_margin]+   if y_i == y_j
///              [neg_margin - D_ij]+   otherwise
///
/// over given pairs or triplets (a,p), (a,n), or over all ordered pairs of the
/// batch, which is then what `contrastive_all` computes. Each sign has its own
/// mean and the two are added, so a batch without positives (or negatives) is
/// legal. D is the Euclidean distance. Columns of triplets are used as they are
/// given, whatever the labels. O(T D) time for tuples, O(M^2 D) for all pairs.
class ContrastiveLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "contrastive (Hadsell et al., CVPR 2006), given tuples or all pairs";
  static constexpr PartFacts kFacts = {
      .formula =
          "loss = mean [D_ap - pos_margin]+ over positive pairs\n"
          "     + mean [neg_margin - D_an]+ over negative pairs",
      .source = "Hadsell, Chopra & LeCun, CVPR 2006",
      .cost =
          "O(T D) time and memory for tuples; O(M^2 D) time and O(M D) memory "
          "for all pairs",
      .golden = "rev_contrastive, pml_contrastive",
      .miner = "distance_weighted"};
  using Options = ContrastiveOptions;

  explicit ContrastiveLoss(Options options) : options_(std::move(options)) {}

  std::vector<int64_t> tuple_widths() const override { return {2, 3}; }

  LossOutput forward(const LossInput& input) const override {
    if (!input.tuples.defined()) return on_all_pairs(input);
    const Tensor value =
        input.tuples.size(1) == 3 ? on_triplets(input) : on_pairs(input);
    return {keep_bad_visible(value, input.embeddings), {}};
  }

 private:
  LossOutput on_all_pairs(const LossInput& input) const {
    ContrastiveAllParams params;
    params.pos_margin = options_.pos_margin;
    params.neg_margin = options_.neg_margin;
    params.active_only = options_.reduction != "all";
    RowLoss loss = make_row_loss(params);
    loss.euclidean = true;
    return compute_rows(loss, input, MixedRowOptions(), "anchors");
  }

  Tensor on_triplets(const LossInput& input) const {
    const std::vector<Tensor> distance =
        tuple_distances(input.embeddings, input.tuples, {{0, 1}, {0, 2}});
    const Tensor positive = (distance[0] - options_.pos_margin).relu();
    const Tensor negative = (options_.neg_margin - distance[1]).relu();
    // One mean where both have the same divisor.
    if (!only_active()) return hinge_mean(positive + negative, false);
    return hinge_mean(positive, true) + hinge_mean(negative, true);
  }

  Tensor on_pairs(const LossInput& input) const {
    const Tensor distance =
        tuple_distances(input.embeddings, input.tuples, {{0, 1}})[0];
    const Tensor label =
        input.labels.index_select(0, input.tuples.flatten()).view({-1, 2});
    const Tensor same = label.select(1, 0) == label.select(1, 1);
    const Tensor terms = torch::where(same, distance - options_.pos_margin,
                                      options_.neg_margin - distance)
                             .relu();  // [T]
    const Tensor counted = only_active() ? terms > 0 : torch::ones_like(same);
    const Tensor positives = counted.logical_and(same).sum();
    const Tensor negatives = counted.sum() - positives;
    // Divided one by one, for the two means differ in their divisors.
    return (terms / torch::where(same, positives, negatives).clamp_min(1))
        .sum();
  }

  bool only_active() const { return options_.reduction == "active"; }

  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "contrastive", ContrastiveLoss);

}  // namespace kith
