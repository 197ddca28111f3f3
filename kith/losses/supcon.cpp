#include "kith/losses/rows/supcon.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct SupconOptions : MixedRowOptions {
  double temperature = 0.1;

  void describe(OptionSet& set) {
    set.add("temperature", temperature, "Divides the similarities.").positive();
    MixedRowOptions::describe(set);
  }
};

/// Supervised contrastive loss (Khosla et al., NeurIPS 2020), as
/// pytorch-metric-learning computes it.
///
///     l(a) = -1/|P_a| sum_{p in P_a} log(e^{s_ap/t} / sum_{j != a} e^{s_aj/t})
///
/// Mean over the anchors with a value above zero.
class SupconLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "supervised contrastive (Khosla et al., NeurIPS 2020)";
  static constexpr PartFacts kFacts = {
      .formula =
          "l(a) = -1/|P_a| sum_{p in P_a} log(e^{s_ap/t} / sum_{j != a} "
          "e^{s_aj/t})\n"
          "loss = mean over the anchors with a value above zero of l(a)",
      .source =
          "Khosla, Teterwak, Wang, Sarna, Tian, Isola, Maschinot, Liu & "
          "Krishnan, NeurIPS 2020",
      .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
      .golden = "pml_supcon"};
  using Options = SupconOptions;

  explicit SupconLoss(Options options) : options_(std::move(options)) {
    params_.temperature = options_.temperature;
  }

  LossOutput forward(const LossInput& input) const override {
    const RowLoss loss = make_row_loss(params_);
    return compute_rows(loss, input, options_, "anchors");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 private:
  Options options_;
  SupconParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "supcon", SupconLoss);

}  // namespace kith
