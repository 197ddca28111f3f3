#include "kith/losses/rows/lifted_structure.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct LiftedStructureOptions : MixedRowOptions {
  double pos_margin = 0;
  double neg_margin = 1;

  void describe(OptionSet& set) {
    set.add("pos_margin", pos_margin, "Taken off the positives' distance.");
    set.add("neg_margin", neg_margin, "Distance that negatives should have.");
    MixedRowOptions::describe(set);
  }
};

/// Lifted structure loss (Song, Xiang, Jegelka & Savarese, CVPR 2016), as
/// pytorch-metric-learning computes it.
///
///     J(a,p) = D_ap - pos_margin + log(sum_{n in N_a} e^{neg_margin - D_an}
///                                    + sum_{n in N_p} e^{neg_margin - D_pn})
///     loss = mean over ordered pairs of positives of [J]+^2 / 2
class LiftedStructureLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "lifted structure (Song et al., CVPR 2016)";
  static constexpr PartFacts kFacts = {
      .formula =
          "J(a,p) = D_ap - pos_margin + log(sum_{n in N_a} e^{neg_margin - "
          "D_an} + sum_{n in N_p} e^{neg_margin - D_pn})\n"
          "loss = mean over ordered pairs of positives of [J(a,p)]+^2 / 2",
      .source = "Song, Xiang, Jegelka & Savarese, CVPR 2016",
      .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
      .golden = "pml_lifted_structure"};
  using Options = LiftedStructureOptions;

  explicit LiftedStructureLoss(Options options) : options_(std::move(options)) {
    params_ = {options_.pos_margin, options_.neg_margin};
  }

  LossOutput forward(const LossInput& input) const override {
    RowLoss loss = make_row_loss(params_);
    loss.euclidean = true;
    return compute_rows(loss, input, options_, "anchors");
  }

  bool takes_mixed() const override { return true; }

 private:
  Options options_;
  LiftedStructureParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "lifted_structure", LiftedStructureLoss);

}  // namespace kith
