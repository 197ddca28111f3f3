#include "kith/losses/npair.h"

#include <torch/torch.h>

#include "kith/losses/pair_terms.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const Npair::kSummary =
    "N-pair against all negatives of the batch (Sohn, NeurIPS 2016)";

const PartFacts Npair::kFacts = {
    .formula =
        "l(a,p) = log(1 + sum_{n in N_a} e^{e_a.e_n - e_a.e_p})\n"
        "loss = mean over tuples of l(a,p), + l2 * mean |e|^2",
    .source = "Sohn, NeurIPS 2016",
    .cost = "O(T M D) time for T tuples; memory_mb and O((M + T) D) memory",
    .golden = "rev_npair"};

void NpairOptions::describe(OptionSet& set) {
  set.add("l2", l2, "Weight of the embeddings' norms.").range(0);
  set.add("penalty", penalty,
          "Mean of squared norms, or of norms as the published study's code.")
      .choices({"squared_norm", "norm"});
  rows.describe(set);
}

Npair::Npair(Options options)
    : options_(checked(std::move(options), "npair")) {}

LossOutput Npair::forward(const LossInput& input) const {
  const Tensor pairs = anchor_pairs(input, "npair");
  const Tensor value = npair_mean(input, pairs, options_.rows.limits());
  const Tensor penalty = norm_penalty(input.embeddings, options_.l2,
                                      options_.penalty == "squared_norm");
  return {value + penalty, {{"pairs", static_cast<double>(pairs.size(0))}}};
}

KITH_REGISTER(loss_registry(), "npair", Npair);

}  // namespace kith
