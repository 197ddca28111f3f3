#include "kith/losses/ap_quantised.h"

#include "kith/losses/rows/quantised_ap.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const ApQuantised::kSummary =
    "quantised AP (He et al., CVPR 2018; Revaud et al., ICCV 2019)";

const PartFacts ApQuantised::kFacts = {
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

void ApQuantisedOptions::describe(OptionSet& set) {
  set.add("num_bins", num_bins, "Centres Q of the histogram.").range(2, 501);
  rows.describe(set);
}

ApQuantised::ApQuantised(const Options& options)
    : LossOnRows(
          checked(options, "ap_quantised").rows,
          row_maker(QuantisedApParams{static_cast<int>(options.num_bins)}),
          "queries") {}

KITH_REGISTER(loss_registry(), "ap_quantised", ApQuantised);

}  // namespace kith
