#include "kith/losses/rows/nt_xent.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct NtXentOptions : MixedRowOptions {
  double temperature = 0.07;

  void describe(OptionSet& set) {
    set.add("temperature", temperature, "Divides the similarities.").positive();
    MixedRowOptions::describe(set);
  }
};

/// Normalised temperature-scaled cross entropy over labelled pairs, as
/// pytorch-metric-learning computes it.
///
///     l(a,p) = -log(e^{s_ap/t} / (e^{s_ap/t} + sum_{n in N_a} e^{s_an/t}))
///
/// Mean over all ordered pairs of positives.
class NtXentLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "NT-Xent / InfoNCE over all positive pairs (Sohn 2016; Chen et al. 2020)";
  static constexpr PartFacts kFacts = {
      .formula =
          "l(a,p) = -log(e^{s_ap/t} / (e^{s_ap/t} + sum_{n in N_a} "
          "e^{s_an/t}))\n"
          "loss = mean over ordered pairs of positives of l(a,p)",
      .source =
          "Sohn, NeurIPS 2016; Chen, Kornblith, Norouzi & Hinton, ICML 2020",
      .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
      .golden = "pml_ntxent"};
  using Options = NtXentOptions;

  explicit NtXentLoss(Options options) : options_(std::move(options)) {
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
  NtXentParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "nt_xent", NtXentLoss);

}  // namespace kith
