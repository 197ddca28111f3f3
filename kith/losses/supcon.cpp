#include "kith/losses/supcon.h"

#include "kith/losses/rows/supcon.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const Supcon::kSummary =
    "supervised contrastive (Khosla et al., NeurIPS 2020)";

const PartFacts Supcon::kFacts = {
    .formula =
        "l(a) = -1/|P_a| sum_{p in P_a} log(e^{s_ap/t} / sum_{j != a} "
        "e^{s_aj/t})\n"
        "loss = mean over the anchors with a value above zero of l(a)",
    .source =
        "Khosla, Teterwak, Wang, Sarna, Tian, Isola, Maschinot, Liu & "
        "Krishnan, NeurIPS 2020",
    .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
    .golden = "pml_supcon"};

void SupconOptions::describe(OptionSet& set) {
  set.add("temperature", temperature, "Divides the similarities.").positive();
  rows.describe(set);
}

Supcon::Supcon(const Options& options)
    : LossOnRows(checked(options, "supcon").rows,
                 row_maker(SupconParams{options.temperature}), "anchors") {}

KITH_REGISTER(loss_registry(), "supcon", Supcon);

}  // namespace kith
