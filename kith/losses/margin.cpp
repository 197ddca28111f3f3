#include "kith/losses/margin.h"

#include <torch/torch.h>

#include "kith/ops/tuples.h"

namespace kith {

const char* const Margin::kSummary =
    "margin with a learnt boundary (Wu et al., ICCV 2017), given triplets";

const PartFacts Margin::kFacts = {
    .formula =
        "l(a,p) = [D_ap - beta + margin]+\n"
        "l(a,n) = [beta - D_an + margin]+\n"
        "loss = sum / number of pairs with a term above zero\n"
        "     + nu beta (per class: nu sum over triplets of beta_a, divided "
        "likewise)",
    .source = "Wu et al., ICCV 2017",
    .cost = "O(T D) time and memory",
    .golden = "rev_margin"};

void MarginOptions::describe(OptionSet& set) {
  describe_margin(set, *this);
  set.add("count", count,
          "What is counted where it has a positive term, for the mean: "
          "pairs, or triplets as in the published study's code.")
      .choices({"pairs", "triplets"});
}

Margin::Margin(Options options, const LossContext& context)
    : LossWithBeta(beta_start(options, "margin"), context),
      options_(std::move(options)) {}

LossOutput Margin::forward(const LossInput& input) const {
  const std::vector<Tensor> distance =
      tuple_distances(input.embeddings, input.tuples, {{0, 1}, {0, 2}});
  const Tensor beta = beta_of_anchors(input);
  const Tensor positive = (distance[0] - beta + options_.margin).relu();
  const Tensor negative = (beta - distance[1] + options_.margin).relu();
  const Tensor terms = positive + negative;  // [T]
  const Tensor count = options_.count == "pairs"
                           ? (positive > 0).sum() + (negative > 0).sum()
                           : (terms > 0).sum();
  Tensor value = terms.sum() / count.clamp_min(1);
  if (beta_.has_penalty()) {
    value = value + beta_.penalty(beta, torch::ones_like(terms), count);
  }
  return {keep_bad_visible(value, input.embeddings), {}};
}

Tensor Margin::beta_of_anchors(const LossInput& input) const {
  if (beta_.classes() == 0) return beta_.of({}, input.embeddings);
  return beta_.of(input.labels.index_select(0, input.tuples.select(1, 0)),
                  input.embeddings);
}

KITH_REGISTER(loss_registry(), "margin", Margin);

}  // namespace kith
