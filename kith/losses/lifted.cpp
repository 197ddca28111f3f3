#include "kith/losses/rows/lifted.h"

#include <torch/torch.h>

#include "kith/losses/row_loss.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

struct LiftedOptions : MixedRowOptions {
  double pos_margin = 0;
  double neg_margin = 1;
  double l2 = 0.005;
  std::string penalty = "squared_norm";

  void describe(OptionSet& set) {
    set.add("pos_margin", pos_margin, "Taken off the positives' distances.");
    set.add("neg_margin", neg_margin, "Distance that negatives should have.");
    set.add("l2", l2, "Weight of the embeddings' norms.").range(0);
    set.add("penalty", penalty,
            "Mean of squared norms, or of norms as the published study's code.")
        .choices({"squared_norm", "norm"});
    MixedRowOptions::describe(set);
  }
};

/// Generalised lifted structure loss (Hermans, Beyer & Leibe, 2017).
///
///     l(a) = [log sum_{p in P_a} e^{D_ap - pos_margin}
///           + log sum_{n in N_a} e^{neg_margin - D_an}]+
///     loss = mean over anchors of l(a) + l2 * mean |e|^2
///
/// on the embeddings as they are, not normalised; an empty sum contributes 0.
class LiftedLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "generalised lifted structure (Hermans et al., 2017)";
  static constexpr PartFacts kFacts = {
      .formula =
          "l(a) = [log sum_{p in P_a} e^{D_ap - pos_margin} + log sum_{n in "
          "N_a} e^{neg_margin - D_an}]+, an empty sum counts 0\n"
          "loss = mean over anchors of l(a), + l2 * mean |e|^2",
      .source = "Hermans, Beyer & Leibe, arXiv 2017",
      .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
      .golden = "pml_generalized_lifted, rev_lifted"};
  using Options = LiftedOptions;

  explicit LiftedLoss(Options options) : options_(std::move(options)) {
    params_ = {options_.pos_margin, options_.neg_margin};
  }

  LossOutput forward(const LossInput& input) const override {
    RowLoss loss = make_row_loss(params_);
    loss.euclidean = true;
    LossOutput output = compute_rows(loss, input, options_, "anchors");
    output.value =
        output.value + norm_penalty(input.embeddings, options_.l2,
                                    options_.penalty == "squared_norm");
    return output;
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

  bool wants_unit() const override { return false; }

 private:
  Options options_;
  LiftedParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "lifted", LiftedLoss);

}  // namespace kith
