#include "kith/losses/angular.h"

#include <torch/torch.h>

#include "kith/losses/pair_terms.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const Angular::kSummary =
    "angular and N-pair against all negatives (Wang et al., ICCV 2017)";

const PartFacts Angular::kFacts = {
    .formula =
        "x = e / |e|, t = tan(alpha)^2\n"
        "l(a,p) = log(1 + sum_{n in N_a} e^{e_a.e_n - e_a.e_p})\n"
        "g(a,p) = log(1 + sum_{n in N_a} e^{4 t (x_a + x_p).x_n - 2 (1 + t) "
        "x_a.x_p})\n"
        "loss = mean over tuples of l(a,p) + lambda g(a,p), + l2 * mean "
        "|e|^2",
    .source = "Wang, Zhou, Wen, Liu & Lin, ICCV 2017",
    .cost = "O(T M D) time for T tuples, O(M^2 + M D) memory",
    .golden = "rev_angular"};

void AngularOptions::describe(OptionSet& set) {
  set.add("alpha", alpha, "Largest angle at the negative, in degrees.")
      .range(0, 89);
  set.add("lambda", lambda, "Weight of the angular part.").range(0);
  set.add("l2", l2, "Weight of the embeddings' norms.").range(0);
  set.add("penalty", penalty,
          "Mean of squared norms, or of norms as the published study's code.")
      .choices({"squared_norm", "norm"});
  rows.describe(set);
}

Angular::Angular(Options options)
    : options_(checked(std::move(options), "angular")) {}

LossOutput Angular::forward(const LossInput& given) const {
  LossInput input = given;
  input.embeddings = given.embeddings.contiguous();
  const Tensor pairs = anchor_pairs(input, "angular");
  const Tensor x = normalize_rows(input.embeddings);
  const Tensor npair = npair_mean(input, pairs, options_.rows.limits());
  const Tensor angular =
      angular_mean(x, x, input.labels, pairs, options_.alpha);
  const Tensor penalty = norm_penalty(input.embeddings, options_.l2,
                                      options_.penalty == "squared_norm");
  return {npair + options_.lambda * angular + penalty,
          {{"pairs", static_cast<double>(pairs.size(0))}}};
}

KITH_REGISTER(loss_registry(), "angular", Angular);

}  // namespace kith
