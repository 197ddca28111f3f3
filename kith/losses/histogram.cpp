#include "kith/losses/rows/histogram.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct HistogramOptions : MixedRowOptions {
  int64_t bins = 65;

  void describe(OptionSet& set) {
    set.add("bins", bins, "Centres R of the histograms.").range(2, 501);
    MixedRowOptions::describe(set);
  }
};

/// Histogram loss (Ustinova & Lempitsky, NeurIPS 2016): the probability that a
/// negative pair is more similar than a positive one.
///
///     h+, h-: triangular histograms of the similarities of all positive and
///             all negative pairs, on R centres of [-1, 1], each of sum 1
///     loss = sum_r h-_r sum_{q <= r} h+_q
///
/// Zero if the batch has no positives or no negatives.
class HistogramLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "histogram loss (Ustinova & Lempitsky, NeurIPS 2016)";
  static constexpr PartFacts kFacts = {
      .formula =
          "h+, h-: triangular histograms of s over all positive and all "
          "negative pairs, on R centres of [-1, 1], each of sum 1\n"
          "loss = sum_r h-_r sum_{q <= r} h+_q",
      .source = "Ustinova & Lempitsky, NeurIPS 2016",
      .cost = "O(M^2 D) time, O(M R) more; memory_mb and O(M (D + R)) memory",
      .golden = "pml_histogram, rev_histogram"};
  using Options = HistogramOptions;

  explicit HistogramLoss(Options options) : options_(std::move(options)) {
    params_.centres = static_cast<int>(options_.bins);
  }

  LossOutput forward(const LossInput& input) const override {
    const RowLoss loss = make_row_loss(params_);
    return compute_rows(loss, input, options_, "anchors");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 private:
  Options options_;
  HistogramParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "histogram", HistogramLoss);

}  // namespace kith
