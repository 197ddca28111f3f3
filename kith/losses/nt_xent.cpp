#include "kith/losses/nt_xent.h"

#include "kith/losses/rows/nt_xent.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const NtXent::kSummary =
    "NT-Xent / InfoNCE over all positive pairs (Sohn 2016; Chen et al. 2020)";

const PartFacts NtXent::kFacts = {
    .formula =
        "l(a,p) = -log(e^{s_ap/t} / (e^{s_ap/t} + sum_{n in N_a} "
        "e^{s_an/t}))\n"
        "loss = mean over ordered pairs of positives of l(a,p)",
    .source =
        "Sohn, NeurIPS 2016; Chen, Kornblith, Norouzi & Hinton, ICML 2020",
    .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
    .golden = "pml_ntxent"};

void NtXentOptions::describe(OptionSet& set) {
  set.add("temperature", temperature, "Divides the similarities.").positive();
  rows.describe(set);
}

NtXent::NtXent(const Options& options)
    : LossOnRows(checked(options, "nt_xent").rows,
                 row_maker(NtXentParams{options.temperature}), "anchors") {}

KITH_REGISTER(loss_registry(), "nt_xent", NtXent);

}  // namespace kith
