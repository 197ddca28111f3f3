#include "kith/losses/smooth_ap.h"

#include "kith/losses/rows/smooth_ap.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const SmoothAp::kSummary = "Smooth-AP (Brown et al., ECCV 2020)";

const PartFacts SmoothAp::kFacts = {
    .formula =
        "R(x, Z) = 1 + sum_{z in Z, z != x} sigma_t(s_qz - s_qx)\n"
        "AP(q) = 1/|P_q| sum_{x in P_q} R(x, P_q) / R(x, all but q)\n"
        "loss = mean over queries with positives of 1 - AP(q)",
    .source = "Brown, Xie, Kalogeiton & Zisserman, ECCV 2020",
    .cost =
        "O(M^2 (D + P)) time, P positives a row; memory_mb and O(M D) memory",
    .golden = "smoothap"};

void SmoothApOptions::describe(OptionSet& set) {
  set.add("temperature", temperature,
          "Temperature of the sigmoid that compares similarities.")
      .positive();
  set.add("query_in_database", query_in_database,
          "Count the query among its own positives, in both rankings, as "
          "the published code does.");
  rows.describe(set);
}

SmoothAp::SmoothAp(const Options& options)
    : LossOnRows(checked(options, "smooth_ap").rows,
                 row_maker(SmoothApParams{options.temperature,
                                          options.query_in_database}),
                 "queries") {}

KITH_REGISTER(loss_registry(), "smooth_ap", SmoothAp);

}  // namespace kith
