#include "kith/losses/lifted.h"

#include <torch/torch.h>

#include "kith/losses/rows/lifted.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const Lifted::kSummary =
    "generalised lifted structure (Hermans et al., 2017)";

const PartFacts Lifted::kFacts = {
    .formula =
        "l(a) = [log sum_{p in P_a} e^{D_ap - pos_margin} + log sum_{n in "
        "N_a} e^{neg_margin - D_an}]+, an empty sum counts 0\n"
        "loss = mean over anchors of l(a), + l2 * mean |e|^2",
    .source = "Hermans, Beyer & Leibe, arXiv 2017",
    .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
    .golden = "pml_generalized_lifted, rev_lifted"};

void LiftedOptions::describe(OptionSet& set) {
  set.add("pos_margin", pos_margin, "Taken off the positives' distances.");
  set.add("neg_margin", neg_margin, "Distance that negatives should have.");
  set.add("l2", l2, "Weight of the embeddings' norms.").range(0);
  set.add("penalty", penalty,
          "Mean of squared norms, or of norms as the published study's code.")
      .choices({"squared_norm", "norm"});
  rows.describe(set);
}

Lifted::Lifted(const Options& options)
    : LossOnRows(
          checked(options, "lifted").rows,
          row_maker(LiftedParams{options.pos_margin, options.neg_margin}),
          "anchors", /*euclidean=*/true),
      l2_(options.l2),
      squared_(options.penalty == "squared_norm") {}

LossOutput Lifted::forward(const LossInput& input) const {
  LossOutput output = LossOnRows::forward(input);
  output.value = output.value + norm_penalty(input.embeddings, l2_, squared_);
  return output;
}

KITH_REGISTER(loss_registry(), "lifted", Lifted);

}  // namespace kith
