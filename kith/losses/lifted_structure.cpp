#include "kith/losses/lifted_structure.h"

#include "kith/losses/rows/lifted_structure.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const LiftedStructure::kSummary =
    "lifted structure (Song et al., CVPR 2016)";

const PartFacts LiftedStructure::kFacts = {
    .formula =
        "J(a,p) = D_ap - pos_margin + log(sum_{n in N_a} e^{neg_margin - "
        "D_an} + sum_{n in N_p} e^{neg_margin - D_pn})\n"
        "loss = mean over ordered pairs of positives of [J(a,p)]+^2 / 2",
    .source = "Song, Xiang, Jegelka & Savarese, CVPR 2016",
    .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
    .golden = "pml_lifted_structure"};

void LiftedStructureOptions::describe(OptionSet& set) {
  set.add("pos_margin", pos_margin, "Taken off the positives' distance.");
  set.add("neg_margin", neg_margin, "Distance that negatives should have.");
  rows.describe(set);
}

LiftedStructure::LiftedStructure(const Options& options)
    : LossOnRows(checked(options, "lifted_structure").rows,
                 row_maker(LiftedStructureParams{options.pos_margin,
                                                 options.neg_margin}),
                 "anchors", /*euclidean=*/true) {}

KITH_REGISTER(loss_registry(), "lifted_structure", LiftedStructure);

}  // namespace kith
