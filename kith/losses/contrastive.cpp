#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/pairwise.h"

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
/// batch. Each sign has its own mean and the two are added, so a batch without
/// positives (or negatives) is legal. D is the Euclidean distance. O(M^2)
/// memory for all pairs, O(T D) for tuples.
class ContrastiveLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "contrastive (Hadsell et al., CVPR 2006), given tuples or all pairs";
  using Options = ContrastiveOptions;

  explicit ContrastiveLoss(Options options) : options_(std::move(options)) {}

  std::vector<int64_t> tuple_widths() const override { return {2, 3}; }

  LossOutput forward(const LossInput& input) const override {
    Tensor positive;  // distances of the positive and the negative pairs
    Tensor negative;
    if (!input.tuples.defined()) {
      const Tensor distance = all_distances(input.embeddings);
      positive = distance.masked_select(positive_mask(input.labels));
      negative = distance.masked_select(negative_mask(input.labels));
    } else if (input.tuples.size(1) == 3) {
      positive = pair_distances(input, 0, 1);
      negative = pair_distances(input, 0, 2);
    } else {
      const Tensor distance = pair_distances(input, 0, 1);
      const Tensor same =
          input.labels.index_select(0, input.tuples.select(1, 0)) ==
          input.labels.index_select(0, input.tuples.select(1, 1));
      positive = distance.masked_select(same);
      negative = distance.masked_select(same.logical_not());
    }
    const bool only_active =
        options_.reduction == "active" ||
        (options_.reduction == "auto" && !input.tuples.defined());
    const Tensor value =
        mean_of((positive - options_.pos_margin).relu(), only_active) +
        mean_of((options_.neg_margin - negative).relu(), only_active);
    return {value,
            {{"positive_pairs", static_cast<double>(positive.numel())},
             {"negative_pairs", static_cast<double>(negative.numel())}}};
  }

 private:
  static Tensor pair_distances(const LossInput& input, int64_t a, int64_t b) {
    return row_distances(
        input.embeddings.index_select(0, input.tuples.select(1, a)),
        input.embeddings.index_select(0, input.tuples.select(1, b)));
  }

  /// The mean of terms, zero if there are none.
  static Tensor mean_of(const Tensor& terms, bool only_active) {
    const Tensor count =
        only_active ? (terms > 0).sum() : torch::full_like(terms, 1).sum();
    return terms.sum() / count.clamp_min(1);
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "contrastive", ContrastiveLoss);

}  // namespace kith
