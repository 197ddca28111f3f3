#include "kith/losses/row_loss.h"
#include "kith/losses/rows/quantised_ap.h"

namespace kith {
namespace {

struct FastApOptions : MixedRowOptions {
  int64_t num_bins = 10;
  bool euclidean = false;

  void describe(OptionSet& set) {
    set.add("num_bins", num_bins,
            "Intervals L of the histogram; it has L + 1 centres.")
        .range(1, 500);
    set.add("euclidean", euclidean,
            "Take |x - y|^2 instead of 2 - 2 x.y: the same for unit vectors, "
            "but with the distance's gradient (pytorch-metric-learning).");
    MixedRowOptions::describe(set);
  }
};

/// FastAP (Cakir, He, Xia, Kulis & Sclaroff, CVPR 2019): average precision over
/// a soft histogram of squared distances.
///
///     d = 2 - 2 s in [0, 4], centres c_l = 4 l / L for l = 0 .. L
///     h+_l, h_l: positives, all, with weights max(0, 1 - |d - c_l| L / 4)
///     AP(q) = 1/|P_q| sum_l h+_l H+_l / H_l,  H cumulative
///     loss = mean over queries with positives of 1 - AP(q)
///
/// Each pair is in two bins: O(M + L) a row. The gradient is the derivative of
/// the loss; the published backward is N/2 times that.
class FastApLoss final : public Loss {
 public:
  static constexpr const char* kSummary = "FastAP (Cakir et al., CVPR 2019)";
  static constexpr PartFacts kFacts = {
      .formula =
          "d = 2 - 2 s in [0, 4]; c_l = 4 l / L for l = 0 .. L, the centres of "
          "triangular bins\n"
          "h+_l, h_l: positives of q, all but q, in bin l; H+, H: their sums "
          "from c_0 = 0 up\n"
          "AP(q) = sum_l h+_l H+_l / H_l / |P_q|\n"
          "loss = mean over queries with positives of 1 - AP(q)",
      .source = "Cakir, He, Xia, Kulis & Sclaroff, CVPR 2019",
      .cost = "O(M^2 D) time, O(M L) more; memory_mb and O(M (D + L)) memory",
      .golden = "fastap, pml_fastap"};
  using Options = FastApOptions;

  explicit FastApLoss(Options options) : options_(std::move(options)) {
    params_.centres = static_cast<int>(options_.num_bins) + 1;
  }

  LossOutput forward(const LossInput& input) const override {
    RowLoss loss = make_row_loss(params_);
    loss.euclidean = options_.euclidean;
    return compute_rows(loss, input, options_, "queries");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 private:
  Options options_;
  QuantisedApParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "fast_ap", FastApLoss);

}  // namespace kith
