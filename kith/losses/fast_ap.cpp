#include "kith/losses/fast_ap.h"

#include "kith/losses/rows/quantised_ap.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const FastAp::kSummary = "FastAP (Cakir et al., CVPR 2019)";

const PartFacts FastAp::kFacts = {
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

void FastApOptions::describe(OptionSet& set) {
  set.add("num_bins", num_bins,
          "Intervals L of the histogram; it has L + 1 centres.")
      .range(1, 500);
  set.add("euclidean", euclidean,
          "Take |x - y|^2 instead of 2 - 2 x.y: the same for unit vectors, "
          "but with the distance's gradient (pytorch-metric-learning).");
  rows.describe(set);
}

FastAp::FastAp(const Options& options)
    : LossOnRows(
          checked(options, "fast_ap").rows,
          row_maker(QuantisedApParams{static_cast<int>(options.num_bins) + 1}),
          "queries", options.euclidean) {}

KITH_REGISTER(loss_registry(), "fast_ap", FastAp);

}  // namespace kith
