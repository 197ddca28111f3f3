#include "kith/losses/angular_all.h"

#include <torch/torch.h>

#include "kith/losses/pair_terms.h"
#include "kith/ops/pairwise.h"

namespace kith {

const char* const AngularAll::kSummary =
    "angular over all pairs of positives (Wang et al., ICCV 2017)";

const PartFacts AngularAll::kFacts = {
    .formula =
        "x = e / |e|, t = tan(alpha)^2\n"
        "l(a,p) = log(1 + sum_{n in N_a} e^{4 t (x_a + x_p).e_n - 2 (1 + t) "
        "x_a.x_p})\n"
        "loss = mean over ordered pairs of positives of l(a,p)",
    .source =
        "Wang, Zhou, Wen, Liu & Lin, ICCV 2017; negatives not "
        "normalised as in pytorch-metric-learning",
    .cost = "O(M^2 P D) time, P positives a row; O(M^2 + M D) memory",
    .golden = "pml_angular"};

void AngularAllOptions::describe(OptionSet& set) {
  set.add("alpha", alpha, "Largest angle at the negative, in degrees.")
      .range(0, 89);
  set.add("unit_anchors", unit_anchors,
          "Anchors and positives are made unit vectors; false: all "
          "embeddings are taken as they are.");
}

AngularAll::AngularAll(Options options)
    : options_(checked(options, "angular_all")) {}

LossOutput AngularAll::forward(const LossInput& input) const {
  const Tensor pairs = positive_mask(input.labels).triu_(1).nonzero();
  const Tensor& e = input.embeddings;
  const Tensor value =
      angular_mean(options_.unit_anchors ? normalize_rows(e) : e, e,
                   input.labels, pairs, options_.alpha);
  return {value, {{"pairs", 2 * static_cast<double>(pairs.size(0))}}};
}

KITH_REGISTER(loss_registry(), "angular_all", AngularAll);

}  // namespace kith
