#include "kith/losses/histogram.h"

#include "kith/losses/rows/histogram.h"
#include "kith/ops/row_engine.h"

namespace kith {

const char* const Histogram::kSummary =
    "histogram loss (Ustinova & Lempitsky, NeurIPS 2016)";

const PartFacts Histogram::kFacts = {
    .formula =
        "h+, h-: triangular histograms of s over all positive and all "
        "negative pairs, on R centres of [-1, 1], each of sum 1\n"
        "loss = sum_r h-_r sum_{q <= r} h+_q",
    .source = "Ustinova & Lempitsky, NeurIPS 2016",
    .cost = "O(M^2 D) time, O(M R) more; memory_mb and O(M (D + R)) memory",
    .golden = "pml_histogram, rev_histogram"};

void HistogramOptions::describe(OptionSet& set) {
  set.add("bins", bins, "Centres R of the histograms.").range(2, 501);
  rows.describe(set);
}

Histogram::Histogram(const Options& options)
    : LossOnRows(checked(options, "histogram").rows,
                 row_maker(HistogramParams{static_cast<int>(options.bins)}),
                 "anchors") {}

KITH_REGISTER(loss_registry(), "histogram", Histogram);

}  // namespace kith
