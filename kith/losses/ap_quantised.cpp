#include "kith/losses/row_loss.h"
#include "kith/losses/rows/quantised_ap.h"

namespace kith {
namespace {

struct ApQuantisedOptions : MixedRowOptions {
  int64_t num_bins = 20;

  void describe(OptionSet& set) {
    set.add("num_bins", num_bins, "Centres Q of the histogram.").range(2, 501);
    MixedRowOptions::describe(set);
  }
};

/// Quantised average precision (He, Lu & Sclaroff, CVPR 2018; Revaud, Almazan,
/// Rezende & de Souza, ICCV 2019): a soft histogram of similarities.
///
///     centres b_m = 1 - 2 m / (Q - 1), m = 0 .. Q-1, triangular weights
///     AP(q) = sum_m (H+_m / H_m) h+_m / |P_q|,  H cumulative from b_0 = 1 down
///     loss = mean over queries with positives of 1 - AP(q)
///
/// It is fast_ap with num_bins = Q - 1, which writes 2 - 2 s for distances.
class ApQuantisedLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "quantised AP (He et al., CVPR 2018; Revaud et al., ICCV 2019)";
  static constexpr PartFacts kFacts = {
      .formula =
          "b_m = 1 - 2 m / (Q - 1) for m = 0 .. Q - 1, the centres of "
          "triangular bins\n"
          "h+_m, h_m: positives of q, all but q, in bin m; H+, H: their sums "
          "from b_0 = 1 down\n"
          "AP(q) = sum_m h+_m H+_m / H_m / |P_q|\n"
          "loss = mean over queries with positives of 1 - AP(q)",
      .source =
          "He, Lu & Sclaroff, CVPR 2018; Revaud, Almazan, Rezende & de Souza, "
          "ICCV 2019",
      .cost = "O(M^2 D) time, O(M Q) more; memory_mb and O(M (D + Q)) memory"};
  using Options = ApQuantisedOptions;

  explicit ApQuantisedLoss(Options options) : options_(std::move(options)) {
    params_.centres = static_cast<int>(options_.num_bins);
  }

  LossOutput forward(const LossInput& input) const override {
    const RowLoss loss = make_row_loss(params_);
    return compute_rows(loss, input, options_, "queries");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 private:
  Options options_;
  QuantisedApParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "ap_quantised", ApQuantisedLoss);

}  // namespace kith
