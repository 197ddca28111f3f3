#include "kith/losses/rows/contrastive_all.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct ContrastiveAllOptions : MixedRowOptions {
  double pos_margin = 0;
  double neg_margin = 1;
  std::string reduction = "active";

  void describe(OptionSet& set) {
    set.add("pos_margin", pos_margin,
            "Positive pairs closer than this cost nothing.")
        .range(0);
    set.add("neg_margin", neg_margin,
            "Negative pairs farther apart than this cost nothing.")
        .range(0);
    set.add("reduction", reduction,
            "Mean over the pairs with a term above zero, or over all.")
        .choices({"active", "all"});
    MixedRowOptions::describe(set);
  }
};

/// Contrastive loss (Hadsell, Chopra & LeCun, CVPR 2006) over all ordered pairs
/// of the batch, as pytorch-metric-learning computes it; `contrastive` takes
/// mined tuples.
///
///     mean [D_ij - pos_margin]+ over positives
///   + mean [neg_margin - D_ij]+ over negatives,
///
/// each mean over its terms above zero. D is the Euclidean distance.
class ContrastiveAllLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "contrastive over all pairs of the batch, at any batch size";
  static constexpr PartFacts kFacts = {
      .formula =
          "loss = mean of [D_ij - pos_margin]+ over positive pairs + mean of "
          "[neg_margin - D_ij]+ over negative pairs, each over its terms above "
          "zero",
      .source =
          "Hadsell, Chopra & LeCun, CVPR 2006; all pairs as in "
          "pytorch-metric-learning",
      .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
      .golden = "pml_contrastive"};
  using Options = ContrastiveAllOptions;

  explicit ContrastiveAllLoss(Options options) : options_(std::move(options)) {
    params_.pos_margin = options_.pos_margin;
    params_.neg_margin = options_.neg_margin;
    params_.active_only = options_.reduction == "active";
  }

  LossOutput forward(const LossInput& input) const override {
    RowLoss loss = make_row_loss(params_);
    loss.euclidean = true;
    return compute_rows(loss, input, options_, "anchors");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 private:
  Options options_;
  ContrastiveAllParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "contrastive_all", ContrastiveAllLoss);

}  // namespace kith
