#include "kith/losses/circle.h"

#include "kith/losses/rows/circle.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const Circle::kSummary = "circle loss (Sun et al., CVPR 2020)";

const PartFacts Circle::kFacts = {
    .formula =
        "l(a) = softplus(\n"
        "    log sum_{p in P_a} e^{-gamma [1 + m - s_ap]+ (s_ap - (1 - m))}\n"
        "  + log sum_{n in N_a} e^{gamma [s_an + m]+ (s_an - m)})\n"
        "loss = mean over the anchors with a value above zero; with detach "
        "the brackets are constants in the gradient",
    .source = "Sun, Cheng, Zhang, Zhang, Zheng, Wang & Wei, CVPR 2020",
    .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
    .golden = "pml_circle"};

void CircleOptions::describe(OptionSet& set) {
  set.add("m", m, "Margin.");
  set.add("gamma", gamma, "Scale.").positive();
  set.add("detach", detach,
          "Take the weights of the pairs as constants in the gradient, as "
          "published.");
  rows.describe(set);
}

Circle::Circle(const Options& options)
    : LossOnRows(
          checked(options, "circle").rows,
          row_maker(CircleParams{options.m, options.gamma, options.detach}),
          "anchors"),
      detach_(options.detach) {}

KITH_REGISTER(loss_registry(), "circle", Circle);

}  // namespace kith
