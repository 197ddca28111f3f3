#include "kith/losses/rows/triplet_all.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct TripletAllOptions : MixedRowOptions {
  double margin = 0.05;
  std::string reduction = "active";

  void describe(OptionSet& set) {
    set.add("margin", margin,
            "How much farther than positives negatives should be.");
    set.add("reduction", reduction,
            "Mean over the triplets with a term above zero, or over all.")
        .choices({"active", "all"});
    MixedRowOptions::describe(set);
  }
};

/// Triplet loss (Weinberger & Saul, JMLR 2009; Schroff, Kalenichenko & Philbin,
/// CVPR 2015) over all triplets of the batch, as pytorch-metric-learning
/// computes it; `triplet` takes mined tuples.
///
///     l(a,p,n) = [D_ap - D_an + margin]+
///
/// Mean over the triplets with a term above zero. D is the Euclidean distance.
/// M |P| M hinges on the row engine.
class TripletAllLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "triplet over all triplets of the batch, at any batch size";
  static constexpr PartFacts kFacts = {
      .formula =
          "l(a,p,n) = [D_ap - D_an + margin]+\n"
          "loss = mean over the triplets with a term above zero",
      .source =
          "Schroff, Kalenichenko & Philbin, CVPR 2015; all triplets as "
          "in pytorch-metric-learning",
      .cost =
          "O(M^2 (D + P)) time, P positives a row; memory_mb and O(M D) "
          "memory",
      .golden = "pml_triplet_margin"};
  using Options = TripletAllOptions;

  explicit TripletAllLoss(Options options) : options_(std::move(options)) {
    params_.margin = options_.margin;
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
  TripletAllParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "triplet_all", TripletAllLoss);

}  // namespace kith
