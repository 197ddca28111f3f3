#include "kith/losses/triplet_all.h"

#include "kith/losses/rows/triplet_all.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const TripletAll::kSummary =
    "triplet over all triplets of the batch, at any batch size";

const PartFacts TripletAll::kFacts = {
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

void TripletAllOptions::describe(OptionSet& set) {
  set.add("margin", margin,
          "How much farther than positives negatives should be.");
  set.add("reduction", reduction,
          "Mean over the triplets with a term above zero, or over all.")
      .choices({"active", "all"});
  rows.describe(set);
}

TripletAll::TripletAll(const Options& options)
    : LossOnRows(checked(options, "triplet_all").rows,
                 row_maker(TripletAllParams{options.margin,
                                            options.reduction == "active"}),
                 "anchors", /*euclidean=*/true) {}

KITH_REGISTER(loss_registry(), "triplet_all", TripletAll);

}  // namespace kith
